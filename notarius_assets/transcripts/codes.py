"""Every warning and error code the readers emit; docs/reference/transcripts.md says what each means."""

from __future__ import annotations

from typing import Final

BIDI_CONTROLS_REMOVED: Final = "bidi_controls_removed"
CONTROL_CHARACTERS_REMOVED: Final = "control_characters_removed"
DUPLICATE_RECORD_DROPPED: Final = "duplicate_record_dropped"
EMPTY_RECORD_DROPPED: Final = "empty_record_dropped"
ENCODING_BOM: Final = "encoding_bom"
ENCODING_GUESSED: Final = "encoding_guessed"
ENCODING_REPLACED: Final = "encoding_replaced"
FORMAT_MISMATCH: Final = "format_mismatch"
HEADER_SKIPPED: Final = "header_skipped"
HEADING_CONTEXT: Final = "heading_context"
JSON_NAN: Final = "json_nan"
NO_SPEAKERS: Final = "no_speakers"
NON_SPEECH: Final = "non_speech"
RECORD_MALFORMED_SKIPPED: Final = "record_malformed_skipped"
RECORDS_REORDERED: Final = "records_reordered"
SPEAKER_ANONYMOUS: Final = "speaker_anonymous"
SPEAKER_GROUP: Final = "speaker_group"
SPEAKER_LABEL_REJECTED: Final = "speaker_label_rejected"
SPEAKER_MISSING: Final = "speaker_missing"
SPEAKER_NORMALISED: Final = "speaker_normalised"
SPEAKER_VARIANTS: Final = "speaker_variants"

WARNINGS: Final = (
    # of the file
    ENCODING_BOM,
    ENCODING_GUESSED,
    ENCODING_REPLACED,
    CONTROL_CHARACTERS_REMOVED,
    BIDI_CONTROLS_REMOVED,
    JSON_NAN,
    FORMAT_MISMATCH,
    # of records
    HEADER_SKIPPED,
    HEADING_CONTEXT,
    EMPTY_RECORD_DROPPED,
    RECORD_MALFORMED_SKIPPED,
    DUPLICATE_RECORD_DROPPED,
    RECORDS_REORDERED,
    NON_SPEECH,
    # of speakers
    NO_SPEAKERS,
    SPEAKER_MISSING,
    SPEAKER_ANONYMOUS,
    SPEAKER_GROUP,
    SPEAKER_NORMALISED,
    SPEAKER_LABEL_REJECTED,
    SPEAKER_VARIANTS,
)
"""The warning codes, in the order a transcript lists them."""

BINARY_FILE: Final = "binary_file"
EMPTY_FILE: Final = "empty_file"
FILE_TOO_LARGE: Final = "file_too_large"
FILE_UNREADABLE: Final = "file_unreadable"
JSON_INVALID: Final = "json_invalid"
JSON_TOO_DEEP: Final = "json_too_deep"
JSON_TRUNCATED: Final = "json_truncated"
LINE_TOO_LONG: Final = "line_too_long"
NO_CUES: Final = "no_cues"
UNKNOWN_HTML_SHAPE: Final = "unknown_html_shape"
UNKNOWN_JSON_SHAPE: Final = "unknown_json_shape"
UNKNOWN_TEXT_SHAPE: Final = "unknown_text_shape"

ERRORS: Final = (
    FILE_UNREADABLE,
    FILE_TOO_LARGE,
    EMPTY_FILE,
    BINARY_FILE,
    JSON_TRUNCATED,
    JSON_INVALID,
    JSON_TOO_DEEP,
    LINE_TOO_LONG,
    UNKNOWN_JSON_SHAPE,
    UNKNOWN_HTML_SHAPE,
    UNKNOWN_TEXT_SHAPE,
    NO_CUES,
)
"""The error codes: no unit could be had."""
