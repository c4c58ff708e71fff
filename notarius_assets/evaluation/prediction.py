"""A prediction: what a run published, in the numbering of the gold file it is held against."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from notarius_assets.errors import ConfigurationError
from notarius_assets.evaluation.layers import LAYERS, Layer
from notarius_assets.evaluation.records import Records, by_layer, first_problem

_NEXT = "export the session again with `notarius export`"


class Prediction(Records):
    """Predicted records; `first` is the turn that is unit 1, so unit n is turn `n - 1 + first`."""

    first: int = 1


def from_documents(
    documents: Mapping[str, bytes | Mapping[str, Any]], first: int, *, empty_if_absent: Collection[str] = ()
) -> Prediction:
    """Return the prediction that exported documents hold; `first` is the gold's `range[0]`.

    A document is bytes or parsed JSON, under its root ("interactions"), its table ("npc_interactions") or its file
    name ("npc_interactions.json"); other keys are ignored. A layer without a document is not scored, unless its
    root is in `empty_if_absent`: then it counts as an empty list, which is what a lane that was to run and
    published nothing has earned.

    Raises ConfigurationError for bytes that are no JSON and for records that have not the shape of the contract.
    """
    lists: dict[str, Any] = {}
    for layer in LAYERS:
        for root, table in ((layer.entities, layer.entities_table), (layer.events, layer.events_table)):
            found = _document(documents, root, table)
            if found is not None:
                lists[root] = [_in_gold_form(record, layer, root, i, first) for i, record in enumerate(found)]
            elif root in empty_if_absent:
                lists[root] = []
    return _validated(lists, first, "documents", _NEXT)


def from_gold_form(lists: Mapping[str, Any], first: int = 1) -> Prediction:
    """Return a prediction written like a gold file, for instance a second reader's; `optional` marks are ignored.

    Raises ConfigurationError when it has not the shape.
    """
    roots = [root for layer in LAYERS for root in (layer.entities, layer.events) if root in lists]
    return _validated({root: lists[root] for root in roots}, first, "prediction", "write it in the gold format")


def _validated(lists: Mapping[str, Any], first: int, file: str, next_step: str) -> Prediction:
    try:
        return Prediction.model_validate({**by_layer(lists), "first": first})
    except ValidationError as error:
        raise first_problem(error, file, next_step) from None


def _document(documents: Mapping[str, bytes | Mapping[str, Any]], root: str, table: str) -> list[Any] | None:
    for name in (root, table, f"{table}.json"):
        if name in documents:
            return _listed(documents[name], name, root)
    return None


def _listed(document: bytes | Mapping[str, Any], name: str, root: str) -> list[Any]:
    if isinstance(document, bytes):
        try:
            document = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{name}: no JSON ({error})", next_step=_NEXT) from None
    records = document.get(root) if isinstance(document, Mapping) else None
    if not isinstance(records, list):
        raise ConfigurationError(f"{name}: no object with a list {root!r}", next_step=_NEXT)
    return records


def _in_gold_form(record: Any, layer: Layer, root: str, index: int, first: int) -> dict[str, Any]:
    is_entity = root == layer.entities
    ours, theirs = (layer.document_key, layer.gold_key) if is_entity else (layer.document_link, layer.gold_link)
    try:
        refs = [[r["start_unit_id"] - 1 + first, r["end_unit_id"] - 1 + first] for r in record["source_refs"]]
        kept = {"name": record["name"]} if is_entity else {"kind": record["kind"]}
        return {**kept, theirs: record[ours], "refs": refs}
    except (KeyError, TypeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else "not a record of the contract"
        raise ConfigurationError(f"documents: {root}[{index}]: {reason}", next_step=_NEXT) from None
