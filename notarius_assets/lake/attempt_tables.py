"""The attempts as tables of the history: tries, windows, verdicts, findings, rejected candidates, ingest warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from notarius_assets.identity import compact_json
from notarius_assets.lake.attempts import Attempt
from notarius_assets.lake.manifest import Manifest
from notarius_assets.lake.tables import REF, Column, Table

_TEXT, _INT = pa.string(), pa.int64()
_MEMBER = pa.struct([("name", _TEXT), ("source_refs", pa.list_(REF))])
_WHO = (
    Column("campaign", _TEXT, "Slug of the campaign."),
    Column("session", _TEXT, "Slug of the session."),
    Column("table_name", _TEXT, "The table that was to be made."),
    Column("attempt", _INT, "Number of the try at this table and session, from 1."),
)
_LANE_RUNS = Table(
    "lane_runs",
    "Every try at every table of every session: how it ended, and what it was made by and from.",
    (
        *_WHO,
        Column("lane", _TEXT, "The lane, for tables of a lane."),
        Column("state", _TEXT, "accepted, rejected, failed, blocked or unreadable."),
        Column("reason", _TEXT, "Why it was not accepted."),
        Column("next_step", _TEXT, "What to do about it."),
        Column("is_latest", pa.bool_(), "Whether it is the newest try at this table and session."),
        Column("is_published", pa.bool_(), "Whether the set that the views show holds what this try made."),
        Column("row_count", _INT, "Rows of the table."),
        Column("proposed", _INT, "Candidates proposed, accepted and rejected ones."),
        Column("code_fingerprint", _TEXT, "SHA-256 over what it was made by."),
        Column("input_fingerprint", _TEXT, "SHA-256 over what it was made from."),
        Column("code_parts", _TEXT, "Named parts of the code fingerprint, as JSON."),
        Column("input_parts", _TEXT, "Named parts of the input fingerprint, as JSON."),
        Column("content_digest", _TEXT, "SHA-256 of the content."),
        Column("run_id", _TEXT, "The Dagster run."),
        Column("started_at", _TEXT, "Start, UTC, ISO 8601."),
        Column("ended_at", _TEXT, "End, UTC, ISO 8601."),
    ),
)
_WINDOWS = Table(
    "windows",
    "How every window of every try ended: done, empty, refused, truncated, invalid or failed.",
    (
        *_WHO,
        Column("chunk_id", _INT, "The chunk that was asked; empty where duplicates of a registry were asked for."),
        Column("window_end", _TEXT, "How it ended."),
        Column("candidates", _INT, "Candidates in the answer, or groups."),
        Column("reason", _TEXT, "Why there is no answer."),
        Column("answered_by", _TEXT, "Where the answer came from: rules, cache or call."),
        Column("fingerprint", _TEXT, "SHA-256 of what was asked; the answer is kept under it."),
    ),
)
_CALLS = Table(
    "model_calls",
    "Every attempt at a model, failed ones too: what it used, what it cost and what came of it.",
    (
        Column("campaign", _TEXT, "Slug of the campaign."),
        Column("session", _TEXT, "Slug of the session."),
        Column("table_name", _TEXT, "The table that was to be made."),
        Column("step", _INT, "Number of the step that called, per table and session, from 1."),
        Column("call", _INT, "Number of the call in its step, from 1, as they ended."),
        Column("lane", _TEXT, "The lane that asked."),
        Column(
            "chunk_id", _INT, "The chunk that was asked about; empty where duplicates of a registry were asked for."
        ),
        Column("fingerprint", _TEXT, "SHA-256 of what was asked."),
        Column("ask", _INT, "From 1; higher where the answer before could not be used."),
        Column("attempt", _INT, "Number of the try at this ask, from 1."),
        Column("model", _TEXT, "The model that was asked."),
        Column("prompts", _TEXT, "SHA-256 over the prompt texts of the lane."),
        Column("status", _TEXT, "What came of it."),
        Column("http_status", _INT, "Status of the HTTP answer, if there was one."),
        Column("stop_reason", _TEXT, "Why the model stopped."),
        Column("input_tokens", _INT, "Input that was neither written to the prompt cache nor read from it."),
        Column("cache_write_tokens", _INT, "Input that was written to the prompt cache."),
        Column("cache_read_tokens", _INT, "Input that was read from the prompt cache."),
        Column("output_tokens", _INT, "Output."),
        Column("latency_ms", _INT, "Milliseconds from request to answer, without pauses."),
        Column("cost_usd", pa.float64(), "List price in US dollars; empty where the model's prices are not known."),
        Column("request_id", _TEXT, "The server's id of the call."),
        Column("started_at", _TEXT, "Start, UTC, ISO 8601."),
        Column("run_id", _TEXT, "The Dagster run."),
    ),
)
_VERDICTS = Table(
    "verdicts",
    "What every validator said in every try.",
    (
        *_WHO,
        Column("validator", _TEXT, "Key of the validator; the name of its asset check."),
        Column("boundary", _TEXT, "extraction or normalization."),
        Column("level", _TEXT, "What an ERROR condemns: record or artifact."),
        Column("severity", _TEXT, "ERROR or WARN."),
        Column("passed", pa.bool_(), "Whether nothing was found."),
        Column("findings", _INT, "How many findings there were, also those not kept."),
        Column("looked_at", _INT, "Records the validator looked at."),
    ),
)
_FINDINGS = Table(
    "findings",
    "The findings kept of every validator of every try, at most 20 each.",
    (
        *_WHO,
        Column("validator", _TEXT, "Key of the validator."),
        Column("severity", _TEXT, "ERROR or WARN."),
        Column("finding", _INT, "Number of the finding in its validator's list, from 0."),
        Column("code", _TEXT, "What was found."),
        Column("record_index", _INT, "The record it is about: its position before any was rejected."),
        Column("detail", _TEXT, "Codes, numbers and unit ids."),
    ),
)
_REJECTED = Table(
    "rejected_candidates",
    "Candidates that broke a record rule, with the answer's own JSON.",
    (
        *_WHO,
        Column("chunk_id", _INT, "The chunk that was asked."),
        Column("position", _INT, "Position in the answer, from 0."),
        Column("rule", _TEXT, "Key of the validator."),
        Column("code", _TEXT, "What was found."),
        Column("answer", _TEXT, "The candidate as answered, JSON, at most 2 kB."),
    ),
)
_MERGES = Table(
    "merges",
    "Records of a registry that were united, and unions that were refused: who was to be one, and by which rule.",
    (
        *_WHO,
        Column("merge", _INT, "Number of the union in its try, from 0."),
        Column("rule", _TEXT, "Why: declared, proposed (by a model), or the rule that proposed it."),
        Column("refused", _TEXT, "Why it was not made; empty where it was."),
        Column("record_id", _TEXT, "Id of the record it went into; empty where it was refused."),
        Column("name", _TEXT, "The name that stands; empty where it was refused."),
        Column("stated_unit_id", _INT, "The unit that states it, for an alias stated in the transcript."),
        Column("members", pa.list_(_MEMBER), "The records before: name and evidence of each."),
        Column("answer", _TEXT, "The group as proposed, JSON, where it was refused."),
    ),
)
_INGEST = Table(
    "ingest_warnings",
    "What the reader changed, dropped or could not tell, per accepted reading of a transcript.",
    (
        *_WHO,
        Column("file", _TEXT, "Name of the transcript file."),
        Column("format", _TEXT, "The shape it was read as."),
        Column("code", _TEXT, "The warning's code."),
        Column("units", _INT, "Units concerned."),
        Column("records", _INT, "Records of the file that became no unit because of it."),
        Column("note", _TEXT, "For people."),
    ),
)
ATTEMPT_TABLES = (_LANE_RUNS, _WINDOWS, _CALLS, _VERDICTS, _FINDINGS, _REJECTED, _MERGES, _INGEST)
"""Tables made from the attempts."""

CallEntry = tuple[str, int, int, Mapping[str, Any]]
"""Table, number of the step, number of the call in it, and the attempt as the ledger has it."""


def attempt_rows(
    manifests: Sequence[Manifest], attempts: Iterable[Attempt], calls: Iterable[CallEntry]
) -> list[tuple[Table, pa.Table]]:
    """Return the attempt tables of a history that shows the published sets of `manifests`."""
    published = {(m.source_id, t): e for m in manifests for t, e in m.published.items()}
    rows: dict[str, list[list[Any]]] = {t.name: [] for t in ATTEMPT_TABLES}
    ordered = list(attempts)
    newest = {(a.source_id, a.table): a.number for a in ordered}
    shown = {key: a.number for a in ordered if (key := (a.source_id, a.table)) in published and a.made(published[key])}
    for a in ordered:
        who = [*a.source_id.split("/"), a.table, a.number]
        rows["lane_runs"].append(
            [
                *who,
                a.lane,
                str(a.state),
                a.reason,
                a.next_step,
                newest[a.source_id, a.table] == a.number,
                shown.get((a.source_id, a.table)) == a.number,
                a.rows,
                a.proposed,
                a.code_fingerprint,
                a.input_fingerprint,
                compact_json(dict(a.code_parts)),
                compact_json(dict(a.input_parts)),
                a.content_digest,
                a.run_id,
                a.started_at,
                a.ended_at,
            ]
        )
        rows["windows"].extend(
            # tries of earlier versions have no word of the last two
            [*who, w["chunk_id"], w["end"], w["candidates"], w["reason"], w.get("answered_by"), w.get("fingerprint")]
            for w in a.windows
        )
        for v in a.verdicts:
            named = [v["validator"], v["boundary"], v["level"], v["severity"], v["passed"]]
            rows["verdicts"].append([*who, *named, v["total"], v["looked_at"]])
            rows["findings"].extend(
                [*who, v["validator"], v["severity"], n, f["code"], f["record_index"], f["detail"]]
                for n, f in enumerate(v["findings"])
            )
        rows["rejected_candidates"].extend(
            [*who, r["chunk_id"], r["position"], r["rule"], r["code"], r["answer"]] for r in a.rejected_candidates
        )
        rows["merges"].extend(
            [
                *who,
                n,
                *(m[k] for k in ("rule", "refused", "record_id", "name", "stated_in", "members", "answer")),
            ]
            for n, m in enumerate(a.merges)
        )
        rows["ingest_warnings"].extend(_ingest(who, a.notes))
    rows["model_calls"] = [_call_row(*entry) for entry in calls]
    return [(t, _table(t, rows[t.name])) for t in ATTEMPT_TABLES]


def _call_row(table: str, step: int, number: int, call: Mapping[str, Any]) -> list[Any]:
    used = call["usage"]
    return [
        *call["source_id"].split("/"),
        table,
        step,
        number,
        *(call[n] for n in ("lane", "chunk_id", "fingerprint", "ask", "attempt", "model", "prompts", "status")),
        call["http_status"],
        call["stop_reason"],
        *(used[n] for n in ("input", "cache_write", "cache_read", "output")),
        *(call[n] for n in ("latency_ms", "cost_usd", "request_id", "started_at", "run_id")),
    ]


def _ingest(who: list[Any], notes: Mapping[str, Any]) -> list[list[Any]]:
    return [
        [*who, notes["file"], notes["format"], w["code"], len(w.get("units", ())), w.get("records", 0), w.get("note")]
        for w in notes.get("warnings", ())
    ]


def _table(table: Table, rows: list[list[Any]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.columns)
    arrays = [pa.array(values, type=c.type) for values, c in zip(columns, table.columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=table.schema)
