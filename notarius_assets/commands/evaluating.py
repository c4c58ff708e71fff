"""`evaluate`: published records against gold files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from notarius_assets.commands.terminal import json_out, note, out, table
from notarius_assets.errors import ConfigurationError
from notarius_assets.evaluation import (
    Gold,
    Prediction,
    Unions,
    evaluate,
    from_documents,
    load_gold,
    relatedness,
    report,
    session_candidates,
    unions,
)
from notarius_assets.evaluation.layers import LAYERS
from notarius_assets.flow.documents import lane_document
from notarius_assets.flow.inputs import candidates_of
from notarius_assets.flow.workspace import Workspace
from notarius_assets.lake.tables import CHUNKS, UNITS
from notarius_assets.reconcile.lineage import members
from notarius_assets.reconcile.nodes import Node


def run(workspace: Workspace, golds: Sequence[str], *, kinds: bool, as_json: bool) -> int:
    """Score the sessions that gold files belong to; `PATH=SESSION` says which, where the names do not."""
    pairs: list[tuple[Gold, Prediction]] = []
    starts: dict[str, list[int]] = {}
    related: list[tuple[str, float]] = []
    united: list[tuple[str, str, Unions]] = []
    for given in golds:
        # a path may hold the sign itself
        path, _, named = (given, "", "") if Path(given).exists() else given.rpartition("=")
        path = path or given
        gold = load_gold(Path(path))
        source_id = _session(workspace, Path(path), gold, named)
        prediction = _prediction(workspace, source_id, gold)
        pairs.append((gold, prediction))
        manifest = workspace.store.manifest(source_id)
        units = workspace.store.units(manifest.published[UNITS])
        rows = workspace.store.read(manifest.published[CHUNKS]).to_pylist()
        starts[gold.label] = [row["start_unit_id"] for row in rows]
        known = workspace.pipeline.references
        aliases = {n.name: n.aliases for n in (*known.npcs, *known.locations)}
        united.extend((gold.label, *of_layer) for of_layer in _unions(workspace, source_id, gold))
        related.append((gold.label, relatedness(prediction, units, aliases)))
    found = evaluate(pairs, lambda label, unit: bisect_right(starts[label], unit))
    if as_json:
        counted = [{"gold": label, "layer": layer, **asdict(of)} for label, layer, of in united]
        json_out({**report.as_json(found), "relatedness": dict(related), "unions": counted})
        return 0
    shown = report.rows(found, kinds=kinds)
    table(report.COLUMNS, [[row[c] for c in report.COLUMNS] for row in shown])
    out(
        "Share of records whose evidence says the name: "
        + ", ".join(f"{label} {share:.2f}" for label, share in related)
    )
    for label, layer, of in united:
        out(
            f"Duplicates of {label} {layer}: {of.wrong} wrong and {of.missed} missed unions, "
            f"as far as {of.told} of {of.candidates} candidates are known to the gold"
        )
    lacking = report.lacking_lines(found)
    out(
        "The gold set has every case of the specification's list."
        if not lacking
        else "Cases of the specification's list that this gold set does not hold:"
    )
    for line in lacking:
        out(f"  {line}")
    return 0


def _unions(workspace: Workspace, source_id: str, gold: Gold) -> Iterator[tuple[str, Unions]]:
    """Yield how well the duplicates of each registry were told that the gold file judged."""
    store = workspace.store
    published = store.manifest(source_id).published
    for bound in workspace.pipeline.lanes:
        lane, how = bound.lane, bound.lane.reconciliation
        made = store.accepted_attempt(source_id, lane.table)
        if how is None or made is None or lane.table not in published or lane.root not in gold.entities:
            continue
        candidates = candidates_of(lane, store.read(published[lane.candidates_table]))
        nodes = [node for candidate in candidates for node in how.nodes([candidate])]
        groups = members(nodes, made.merges, one_a_name=how.one_a_name)
        yield lane.root, unions([[_member(n, gold.first) for n in group] for group in groups], gold.entities[lane.root])


def _member(node: Node, first: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    return node.name, tuple((r.start_unit_id - 1 + first, r.end_unit_id - 1 + first) for r in node.refs)


def _session(workspace: Workspace, path: Path, gold: Gold, named: str) -> str:
    published = {
        m.source_id.partition("/")[2]: m
        for m in workspace.store.manifests()
        if {UNITS, CHUNKS} <= set(m.published) and m.source_id.startswith(f"{workspace.pipeline.campaign}/")
    }
    tried = (named.rpartition("/")[2],) if named else session_candidates(path, gold)
    for slug in tried:
        manifest = published.get(slug)
        if manifest and (named or manifest.published[UNITS].rows == gold.length):
            if named and manifest.published[UNITS].rows != gold.length:
                note(f"notarius: {path}: {gold.length} turns, but {slug} has {manifest.published[UNITS].rows} units")
            return manifest.source_id
    raise ConfigurationError(
        f"{path}: no session of this pipeline belongs to it (tried {', '.join(tried)})",
        next_step=f"run the session first, or name it: {path}=SESSION",
    )


def _prediction(workspace: Workspace, source_id: str, gold: Gold) -> Prediction:
    published = workspace.store.manifest(source_id).published
    documents = {}
    roots = []
    for bound in workspace.pipeline.lanes:
        roots.append(bound.lane.root)
        entry = published.get(bound.lane.table)
        if entry:
            documents[bound.lane.root] = lane_document(workspace, bound.lane, entry)
    known = [r for layer in LAYERS for r in (layer.entities, layer.events) if r in roots]
    return from_documents(documents, gold.first, empty_if_absent=known)
