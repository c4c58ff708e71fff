"""Keeps a Python process and its children on this machine: refuses every connection and look-up that would leave it.

Python imports this at its start where this folder is on PYTHONPATH. `GUARD_REFUSED` names a file that gets a line for
each refusal; without it nothing is guarded. `GUARD_SEEN`, where set, names one that gets a line for every use of a
socket and for the start of the process, to show that the guard was there at all.

Only Python's own sockets are seen. gRPC, which carries what Dagster's processes tell each other, opens its own in C.
"""

import ipaddress
import json
import os
import socket
import sys
from typing import Any

REFUSED = "GUARD_REFUSED"
SEEN = "GUARD_SEEN"

LOOK_UPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg")


class LeavesTheMachineError(PermissionError):
    """What a refused call raises: an OSError, so that a program goes on as without a network."""


def is_loopback(host: object) -> bool:
    """Tell whether an address or name is this machine's loopback; None and "" are what a server binds to."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _note(variable: str, *said: object) -> None:
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to import at every start
            file.write(json.dumps([*said, os.getpid()]) + "\n")


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event in LOOK_UPS:
        host, local = args[0], is_loopback(args[0])
    elif event == "socket.getnameinfo":
        host, local = args[0][0], is_loopback(args[0][0])
    elif event in (*CONNECTIONS, "socket.bind"):
        used, address = args
        # None is whoever the socket is connected to already
        host = address[0] if isinstance(address, tuple) else address
        stays = used.family == socket.AF_UNIX or event == "socket.bind" or address is None
        local = stays or (used.family in (socket.AF_INET, socket.AF_INET6) and is_loopback(host))
    else:
        return
    shown = host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host)
    _note(SEEN, event, shown)
    if not local:
        _note(REFUSED, event, shown)
        raise LeavesTheMachineError(f"{event} of {shown}: nothing here may leave the machine")


if REFUSED in os.environ:
    _note(SEEN, "started", "localhost")
    sys.addaudithook(_watch)
