"""A scripted server of the Messages API on loopback: in a test's own process, or as one of its own.

    with ModelServer([replies.overloaded(), replies.answer({"records": []})]) as server:
        ...  # a client with base_url=server.url

    python -m notarius_assets.testing.server --port 0 --script replies.json

The second form prints its URL as its first line and ends on SIGTERM or SIGINT; `scripts` says what the file holds.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import socketserver
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from notarius_assets.testing import scripts
from notarius_assets.testing.asked import Asked
from notarius_assets.testing.replies import Reply, Way, request_id
from notarius_assets.testing.routes import Routes, Turn
from notarius_assets.testing.scripts import Given, Script, ScriptError, as_script, read_script
from notarius_assets.testing.tokens import PromptCache
from notarius_assets.testing.traffic import Traffic, Visit

HOST = "127.0.0.1"


class ModelServer:
    """Listens from the moment it is made until `close`, or until its `with` ends.

    `script` is a function of the request, one reply for all, replies used in order, or replies by key. `latency` is
    waited before each answer, `cache_minimum` is the fewest tokens a cached prefix has, `key` the only key admitted.
    """

    def __init__(
        self,
        script: Given | Script,
        *,
        latency: float = 0.0,
        port: int = 0,
        cache_minimum: int = 512,
        key: str | None = None,
    ) -> None:
        self._latency = latency
        self._cache = PromptCache(cache_minimum)
        self._routes = Routes(as_script(script), self._cache, key)
        self._traffic = Traffic()
        self._http = _Http(port, self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True, name="model-server")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        if kind is None and self.failures:
            raise ScriptError("; ".join(self.failures))

    @property
    def url(self) -> str:
        """The address to give a client as its base."""
        return f"http://{HOST}:{self._http.server_port}"

    @property
    def asked(self) -> list[Asked]:
        """Every request so far, in order of arrival, whatever its path."""
        return self._traffic.asked

    @property
    def failures(self) -> list[str]:
        """Requests that the script had no reply for; leaving the `with` raises them."""
        return list(self._routes.failures)

    @property
    def most_in_flight(self) -> int:
        """The most requests that were open at once."""
        return self._traffic.most

    @property
    def in_flight(self) -> int:
        """How many requests are open now."""
        return self._traffic.open

    @property
    def held(self) -> int:
        """How many requests `hold_after` holds now."""
        return self._traffic.held

    def hold_after(self, n: int) -> None:
        """Answer requests up to number `n` of all, and hold later ones until `release`."""
        self._traffic.hold_after(n)

    def release(self) -> None:
        """Answer the held requests, close the hanging ones, and hold nobody any more."""
        self._traffic.release()

    def wait_for(self, n: int, timeout: float = 10.0) -> None:
        """Wait until `n` requests have arrived since the start; raises TimeoutError when they don't in time."""
        self._traffic.wait_for(n, timeout)

    def close(self) -> None:
        """Stop listening and drop every connection, answered or not; a second time does nothing."""
        self._traffic.close()
        self._http.stop()
        self._thread.join()

    def failed(self, reason: str) -> None:
        """Add to `failures`."""
        self._routes.failed(reason)

    def serve(self, handler: _Handler) -> None:
        """Answer one request that a connection has read."""
        raw = handler.read_body()
        if raw is None:
            return
        body = _parsed(raw)
        path, _, query = handler.path.partition("?")
        headers = {name.lower(): value for name, value in handler.headers.items()}
        # one lock for all: what comes first is served first, and reads what was kept before
        with self._traffic.lock:
            asked = Asked(path, headers, body, self._traffic.next_number(), handler.command, query)
            visit = self._traffic.arrive(asked, handler.connection)
            turn = self._routes.turn(asked)
        try:
            self._answer(handler, visit, turn)
        finally:
            self._traffic.leave(visit)

    def _answer(self, handler: _Handler, visit: Visit, turn: Turn) -> None:
        try:
            reply = turn.reply()
        except Exception as error:  # the script is the caller's code
            reply = self._routes.failed(f"request {visit.asked.number}: {type(error).__name__}: {error}")
        there = not visit.held or self._traffic.until_released(visit)
        there = there and self._traffic.pause(visit, self._latency + reply.delay)
        if there and reply.way is Way.HANG:
            self._traffic.until_released(visit)
        sent = b"" if not there or reply.way in (Way.HANG, Way.CLOSE) else _response(handler, visit.asked, reply, turn)
        handler.close_connection = handler.close_connection or reply.way is not Way.WHOLE or not there
        with self._traffic.lock:
            self._traffic.leave(visit)
            if there and reply.is_message and reply.way is Way.WHOLE:
                self._cache.keep(turn.usage)
        handler.send_bytes(sent)


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _response(handler: _Handler, asked: Asked, reply: Reply, turn: Turn) -> bytes:
    """Return the bytes of a reply, or as much of them as it sends."""
    filled = reply.filled(asked.number, asked.model, turn.usage)
    body = reply.body if filled is None else json.dumps(filled, ensure_ascii=False).encode("utf-8", "surrogatepass")
    head = handler.head(reply, len(body), request_id(asked.number))
    return head + (body[: len(body) // 2] if reply.way is Way.HALF else body)


class _Http(ThreadingHTTPServer):
    """The listener; it knows its connections, to drop them when it stops."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, owner: ModelServer) -> None:
        self.owner = owner
        self._connections: set[Any] = set()
        self._changed = threading.Condition()
        super().__init__((HOST, port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking for the name of the host, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a new connection in a thread of its own."""
        with self._changed:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that has gone is no error, and anything else is one of ours to report."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.owner.failed(f"{type(error).__name__}: {error}")

    def stop(self) -> None:
        """Stop listening, then end the connections and wait a moment until their threads have closed them."""
        self.shutdown()
        self.server_close()
        with self._changed:
            for connection in self._connections:
                _hang_up(connection)
            self._changed.wait_for(lambda: not self._connections, 2.0)


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        """Answer, whatever the method: the table of routes tells."""
        self.server.owner.serve(self)

    do_GET = do_DELETE = do_PUT = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def read_body(self) -> bytes | None:
        """Return the body, or None when the client left before its end."""
        length = self.headers.get("content-length") or "0"
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        if length.isdecimal() and len(body) == int(length):
            return body
        self.close_connection = True
        return None

    def head(self, reply: Reply, length: int, request_id: str) -> bytes:
        """Return status line and headers."""
        self._headers_buffer: list[bytes] = []
        self.send_response(reply.status)
        given = {name.lower(): value for name, value in reply.headers.items()}
        for name, value in ({"request-id": request_id, "content-length": str(length)} | given).items():
            self.send_header(name, value)
        head = b"".join((*self._headers_buffer, b"\r\n"))
        self._headers_buffer = []
        return head

    def send_bytes(self, sent: bytes) -> None:
        """Send to whoever is still there."""
        try:
            self.wfile.write(sent)
        except OSError:
            self.close_connection = True


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to end; 1 when the script had no reply for some request, 2 when it can't be used."""
    parser = argparse.ArgumentParser(
        prog="python -m notarius_assets.testing.server", description=__doc__, epilog=scripts.__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--script", type=Path, required=True, help="file of replies, JSON")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--cache-minimum", type=int, default=512, help="fewest tokens of a cached prefix")
    parser.add_argument("--key", help="the only key admitted")
    given = parser.parse_args(arguments)
    try:
        replies = read_script(given.script)
    except ScriptError as error:
        print(error, file=sys.stderr)
        return 2
    ends = (signal.SIGTERM, signal.SIGINT)
    # before the first thread: all of them must leave the signals to the wait below
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        server = ModelServer(
            replies, latency=given.latency, port=given.port, cache_minimum=given.cache_minimum, key=given.key
        )
    except OSError as error:
        print(f"port {given.port}: {error}", file=sys.stderr)
        return 2
    print(server.url, flush=True)
    signal.sigwait(ends)
    server.close()
    for failure in server.failures:
        print(failure, file=sys.stderr)
    return 1 if server.failures else 0


if __name__ == "__main__":
    sys.exit(main())
