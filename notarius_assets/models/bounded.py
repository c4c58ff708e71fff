"""An answer of bounded size: whoever answers, a body is read so far and no further.

Imported where a client is made, as it needs the HTTP library.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

MAX_BODY = 16_000_000
"""Bytes of a body that are read: far more than any model's longest answer."""

MAX_PACKED = 256_000
"""Bytes of a compressed body that are read; it may hold a thousand times as many."""


class TooLargeError(Exception):
    """A body that is longer than any answer is."""


NO_MESSAGE = (TooLargeError, httpx2.DecodingError)
"""What is met in a body that is no message: too long, or packed and not to be unpacked."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > self._most:
                raise TooLargeError
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound(response: httpx2.Response) -> None:
    """Bound the body of a response that is about to be read; an event hook of the HTTP client."""
    packed = response.headers.get("content-encoding", "identity") != "identity"
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, MAX_PACKED if packed else MAX_BODY)
