"""From bytes to text: byte order marks, strict UTF-8, a guess only on clear evidence, else U+FFFD."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from notarius_assets.transcripts import codes
from notarius_assets.transcripts.model import IngestWarning

_SAMPLE = 65_536

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le", "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be", "UTF-16BE"),
)

_MAGIC = (
    (b"%PDF-", 0, "a PDF document"),
    (b"PK\x03\x04", 0, "a ZIP archive (also .docx, .xlsx, .odt or a Craig download)"),
    (b"PK\x05\x06", 0, "an empty ZIP archive"),
    (b"fLaC", 0, "FLAC audio"),
    (b"OggS", 0, "Ogg audio"),
    (b"ID3", 0, "MP3 audio"),
    (b"\xff\xfb", 0, "MP3 audio"),
    (b"\xff\xf3", 0, "MP3 audio"),
    (b"\xff\xf1", 0, "AAC audio"),
    (b"ftyp", 4, "an MP4 or M4A recording"),
    (b"\x1aE\xdf\xa3", 0, "a Matroska or WebM recording"),
    (b"AVI ", 8, "AVI video (RIFF)"),
    (b"\x1f\x8b", 0, "a gzip file"),
    (b"BZh", 0, "a bzip2 file"),
    (b"\xfd7zXZ\x00", 0, "an xz file"),
    (b"7z\xbc\xaf\x27\x1c", 0, "a 7-Zip archive"),
    (b"Rar!\x1a\x07", 0, "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", 0, "a zstd file"),
    (b"\x89PNG\r\n", 0, "a PNG image"),
    (b"\xff\xd8\xff", 0, "a JPEG image"),
    (b"GIF8", 0, "a GIF image"),
    (b"SQLite format 3\x00", 0, "an SQLite database"),
    (b"PAR1", 0, "a Parquet file"),
    (b"{\\rtf", 0, "an RTF document"),
    (b"\xd0\xcf\x11\xe0", 0, "an old Office document (.doc, .xls)"),
    (b"\x7fELF", 0, "a program (ELF)"),
)

_BINARY_CONTROL = bytes(set(range(0x20)) - set(b"\t\n\x0b\x0c\r\x1b")) + b"\x7f"
_HIGH = bytes(range(0x80, 0x100))
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_CP1252_TYPOGRAPHY = frozenset(b"\x80\x84\x85\x8a\x8c\x8e\x91\x92\x93\x94\x95\x96\x97\x99\x9a\x9c\x9e\x9f")
_CP1252_SIGNS = frozenset(b"\xa1\xa3\xa7\xa9\xab\xae\xb0\xb7\xbb\xbf")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the encoding it was read as, what to warn of, and whether bytes became U+FFFD."""

    text: str
    encoding: str
    warnings: tuple[IngestWarning, ...] = ()
    replaced: bool = False


def binary_kind(data: bytes) -> str | None:
    """Return what a file that holds no text is, or None where it may be text."""
    head = data[:16]
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "WAV audio (RIFF/WAVE)"
    for magic, offset, kind in _MAGIC:
        if head.startswith(magic, offset):
            return kind
    if bom(data) or utf16_without_bom(data):
        return None
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _BINARY_CONTROL))
    # Text keeps a few control characters from bad exports; more than a third is no text in any encoding,
    # and far fewer are enough beside bytes that are no UTF-8.
    if controls * 3 > len(sample) or (controls * 20 > len(sample) and not _is_utf8(sample)):
        return f"binary data ({controls} of the first {len(sample)} bytes are control characters)"
    return None


def bom(data: bytes) -> bytes:
    """Return the byte order mark a file begins with, or nothing."""
    return next((mark for mark, *_ in _BOMS if data.startswith(mark)), b"")


def decode(data: bytes) -> Decoded:
    """Return the text of a file without its byte order mark. Never fails: see `Decoded.replaced`."""
    for mark, encoding, codec, shown in _BOMS:
        if data.startswith(mark):
            text, replaced = _decode(memoryview(data)[len(mark) :], codec)
            return Decoded(text, encoding, (IngestWarning(codes.ENCODING_BOM, note=shown),), replaced)
    guess = utf16_without_bom(data)
    if guess:
        text, replaced = _decode(data, guess)
        note = f"{guess} without a byte order mark: every other byte is NUL"
        return Decoded(text, guess, (IngestWarning(codes.ENCODING_GUESSED, note=note),), replaced)
    text, replaced = _decode(data, "utf-8")
    if replaced and _is_cp1252(data):
        note = "windows-1252: no byte sequence of UTF-8 in it, single accented letters and typographic signs"
        return Decoded(data.decode("cp1252"), "windows-1252", (IngestWarning(codes.ENCODING_GUESSED, note=note),))
    return Decoded(text, "utf-8", (), replaced)


def utf16_without_bom(data: bytes) -> str | None:
    """Return the codec of mostly Latin text in UTF-16 without a mark: NUL in nearly all of one half of the bytes."""
    sample = data[:_SAMPLE]
    if len(sample) < 8 or len(data) % 2:
        return None
    even, odd = sample[::2], sample[1::2]
    for codec, nul, other in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if nul.count(0) * 4 >= len(nul) * 3 and not other.count(0):
            return codec
    return None


def _decode(data: bytes | memoryview, codec: str) -> tuple[str, bool]:
    try:
        return str(data, codec), False
    except UnicodeDecodeError:
        return str(data, codec, "replace"), True


def _is_utf8(sample: bytes) -> bool:
    """Tell whether a sample, perhaps cut inside a character, is UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _is_cp1252(data: bytes) -> bool:
    """Tell whether bytes that are not UTF-8 are Windows-1252 beyond doubt.

    One character of UTF-8, whole or cut, speaks against it: then the file is mixed, and reading all of it as
    Windows-1252 would spoil what is good. So do runs of high bytes, as other alphabets have them.
    """
    high = len(data) - len(data.translate(None, _HIGH))
    if high < 3 or high * 8 > len(data):
        return False
    for run in _HIGH_RUN.finditer(data):
        found = run[0]
        if len(found) > 2 or not all(b >= 0xC0 or b in _CP1252_TYPOGRAPHY or b in _CP1252_SIGNS for b in found):
            return False
        if len(found) == 2 and 0xC2 <= found[0] <= 0xF4 and found[1] < 0xC0:
            return False
    return True
