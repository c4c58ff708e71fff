"""What a person sees beside an asset: columns, counts, a preview of the records, findings in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from notarius_assets.evidence import SourceRef, project
from notarius_assets.flow.steps import Outcome
from notarius_assets.lake.tables import UNITS, Table
from notarius_assets.transcripts.model import Unit
from notarius_assets.validators.base import Level, Verdict

PREVIEW_ROWS = 40
PREVIEW_RANGES = 6
PREVIEW_WORDS = 160
"""Characters of one unit that a preview with evidence shows."""


def column_schema(table: Table) -> dg.TableSchema:
    """Return a table's columns for the UI."""
    columns = [dg.TableColumn(c.name, _type(c.type), description=c.comment) for c in table.columns]
    return dg.TableSchema(columns=columns)


def _type(arrow: pa.DataType) -> str:
    return "list<source_ref>" if pa.types.is_list(arrow) and pa.types.is_struct(arrow.value_type) else str(arrow)


def plain(text: str) -> str:
    """Escape text so that Markdown and HTML show it as it is, on one line."""
    escaped = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]()#|~!{}])", r"\\\1", escaped)


def ranges(refs: Sequence[Mapping[str, Any]]) -> str:
    """Return unit ranges as people write them: `12, 14–16`."""
    shown = [_range(r["start_unit_id"], r["end_unit_id"]) for r in refs[:PREVIEW_RANGES]]
    more = len(refs) - PREVIEW_RANGES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _range(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}–{end}"


def preview(records: Sequence[Mapping[str, Any]], units: Sequence[Unit] = ()) -> str:
    """Return records as a Markdown table; with `units`, the words that prove them too."""
    if not records:
        return "No records."
    has_kind = "kind" in records[0]
    head = ["name", *(["kind"] if has_kind else []), "units", *(["words"] if units else [])]
    lines = [_row(*head), "|" + "---|" * len(head)]
    for record in records[:PREVIEW_ROWS]:
        cells = [plain(record["name"]), *([plain(record["kind"])] if has_kind else []), ranges(record["source_refs"])]
        # A row a unit: the Dagster UI shows no HTML, so a cell can't hold two lines.
        words = _words(record, units) if units else [""]
        lines.append(_row(*cells, *([words[0]] if units else [])))
        lines.extend(_row(*[""] * len(cells), more) for more in words[1:])
    if len(records) > PREVIEW_ROWS:
        lines.append(f"\n{len(records) - PREVIEW_ROWS} more: see the history.")
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _words(record: Mapping[str, Any], units: Sequence[Unit]) -> list[str]:
    cited = project([SourceRef(**r) for r in record["source_refs"][:PREVIEW_RANGES]], units, context=0)
    shown = [f"{e.unit_id}: {plain(e.text[:PREVIEW_WORDS])}{'…' * (len(e.text) > PREVIEW_WORDS)}" for e in cited]
    return shown[:PREVIEW_RANGES] + ["…"] * (len(shown) > PREVIEW_RANGES)


def unions(merges: Sequence[Mapping[str, Any]]) -> str:
    """Return the unions of a registry, made and refused, as a Markdown table."""
    lines = ["| records | became | rule |", "|---|---|---|"]
    for merge in merges[:PREVIEW_ROWS]:
        members = " + ".join(f"{plain(m['name'])} ({ranges(m['source_refs'])})" for m in merge["members"])
        became = f"kept apart: {merge['refused']}" if merge["refused"] else merge["name"]
        lines.append(_row(members, plain(became), plain(merge["rule"])))
    if len(merges) > PREVIEW_ROWS:
        lines.append(f"\n{len(merges) - PREVIEW_ROWS} more: see the view merges.")
    return "\n".join(lines)


def of_outcome(outcome: Outcome, units: Sequence[Unit] = ()) -> dict[str, Any]:
    """Return the metadata of a materialization or a failure."""
    attempt = outcome.attempt
    found: dict[str, Any] = {}
    if attempt.lane and attempt.content_digest:
        found["preview"] = dg.MetadataValue.md(preview(outcome.records, units))
    if attempt.content_digest:
        found["dagster/partition_row_count"] = attempt.rows
    if attempt.merges:
        found["unions"] = dg.MetadataValue.md(unions(attempt.merges))
    found["attempt"] = attempt.number
    if attempt.rejected_candidates:
        found["rejected_candidates"] = len(attempt.rejected_candidates)
    for end, count in sorted(Counter(w["end"] for w in attempt.windows).items()):
        found[f"windows_{end}"] = count
    if attempt.notes and "model" in attempt.code_parts:
        found["model"] = attempt.code_parts["model"]
    if attempt.table != UNITS:
        # tokens, calls and cost, as numbers: the UI plots them over the sessions
        found.update({name: _number(name, value) for name, value in attempt.notes.items() if value is not None})
    if attempt.table == UNITS and attempt.notes:
        warnings = attempt.notes["warnings"]
        found["file"] = attempt.notes["file"]
        found["format"] = attempt.notes["format"]
        found["encoding"] = attempt.notes["encoding"]
        found["ingest_warnings"] = len(warnings)
        found["warnings"] = dg.MetadataValue.md(_warnings(warnings))
    return found


def _number(name: str, value: Any) -> Any:
    """Return a number as the UI plots it: a cost always as a float, to the millionth, which is that of ten tokens."""
    return dg.MetadataValue.float(round(float(value), 6)) if name == "cost_usd" else value


def _warnings(warnings: Sequence[Mapping[str, Any]]) -> str:
    if not warnings:
        return "No warnings."
    lines = ["| code | units | records dropped |", "|---|---|---|"]
    lines.extend(f"| {plain(w['code'])} | {len(w.get('units', ()))} | {w.get('records', 0)} |" for w in warnings)
    return "\n".join(lines)


def verdict_in_words(verdict: Verdict) -> str:
    """Say what a validator found in a sentence."""
    if verdict.passed:
        return f"Looked at {verdict.looked_at}; nothing found."
    codes = Counter(f.code for f in verdict.findings)
    listed = ", ".join(f"{code} ({count})" for code, count in sorted(codes.items()))
    more = f" and {verdict.total - len(verdict.findings)} more" if verdict.total > len(verdict.findings) else ""
    effect = "rejects the result" if verdict.rejects else _mild(verdict)
    return f"{verdict.total} found in {verdict.looked_at}: {listed}{more}; {effect}."


def _mild(verdict: Verdict) -> str:
    record_level = verdict.validator.level is Level.RECORD and verdict.validator.severity == "ERROR"
    return "these candidates are rejected, the rest goes on" if record_level else "a hint, blocks nothing"


def findings(verdict: Verdict) -> str:
    """Return a validator's findings as a Markdown table of codes, numbers and unit ids."""
    lines = ["| code | record | detail |", "|---|---|---|"]
    for f in verdict.findings:
        lines.append(f"| {plain(f.code)} | {'' if f.record_index is None else f.record_index} | {plain(f.detail)} |")
    return "\n".join(lines)
