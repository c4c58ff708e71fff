"""Notice Ctrl-C while Dagster has the signal to itself: it ends the run it is in, and the program goes on."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Give a function that raises KeyboardInterrupt if Ctrl-C or SIGTERM came since the block began.

    Whoever handled it: Dagster ends its run for both, and the program must end too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    # Python writes the number of every signal here before any handler is called
    came, written = socket.socketpair()
    came.setblocking(False)
    written.setblocking(False)
    before = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)

    def check() -> None:
        with contextlib.suppress(BlockingIOError):
            if {signal.SIGINT, signal.SIGTERM} & set(came.recv(4096)):
                raise KeyboardInterrupt

    try:
        yield check
    finally:
        signal.set_wakeup_fd(before)
        came.close()
        written.close()
