"""The manifest: whatever is accepted in whatever order, the published set belongs together and loses nothing."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from notarius_assets.lake.manifest import Entry, Manifest

CONSUMES = {
    "units": (),
    "chunks": ("units",),
    "npc_candidates": ("units", "chunks"),
    "npcs": ("units", "chunks", "npc_candidates"),
    "interaction_candidates": ("units", "chunks", "npcs"),
    "interactions": ("units", "chunks", "npcs", "interaction_candidates"),
}
"""Tables of a session in the order of the data's way, with what each is made from."""

ALL = frozenset(CONSUMES)


def entry(table: str, version: int, inputs: dict[str, str]) -> Entry:
    """Return an entry whose digest is its table, version and inputs: other inputs are other content."""
    digest = f"{table}{version}({','.join(f'{t}={d}' for t, d in sorted(inputs.items()))})"
    return Entry(digest, digest, 1, f"code{version}", digest, {}, {}, inputs)


def made_now(manifest: Manifest, table: str, version: int) -> Manifest | None:
    """Accept a table made from what is accepted now, as a step does; None where something it needs is missing."""
    if any(t not in manifest.accepted for t in CONSUMES[table]):
        return None
    inputs = {t: manifest.accepted[t].content_digest for t in CONSUMES[table]}
    return manifest.accept(table, entry(table, version, inputs), ALL)


def assert_closed(manifest: Manifest) -> None:
    for table, e in manifest.published.items():
        for upstream, digest in e.inputs.items():
            assert upstream in manifest.published, (table, upstream)
            assert manifest.published[upstream].content_digest == digest, (table, upstream)


TRIES = st.lists(st.tuples(st.sampled_from(sorted(ALL)), st.integers(1, 3)), max_size=40)


@settings(max_examples=300, deadline=None)
@given(TRIES)
def test_the_published_set_is_closed_and_loses_nothing_after_every_accept(tries: Sequence[tuple[str, int]]) -> None:
    manifest = Manifest("c/s")
    for table, version in tries:
        accepted = made_now(manifest, table, version)
        if accepted is None:
            continue
        assert_closed(accepted)
        assert set(manifest.published) <= set(accepted.published)
        assert accepted.accepted[table].code_fingerprint == f"code{version}"
        if not accepted.waiting_for:
            assert accepted.published == accepted.accepted
            assert accepted.held_back == ()
        assert bool(accepted.held_back) <= bool(accepted.waiting_for), "what is held back waits for something named"
        assert Manifest.from_json(accepted.as_json()) == accepted
        manifest = accepted


@settings(max_examples=200, deadline=None)
@given(TRIES, st.sets(st.sampled_from(["npcs", "npc_candidates", "interaction_candidates", "interactions"])))
def test_a_table_that_left_the_pipeline_leaves_both_sets(tries: Sequence[tuple[str, int]], gone: set[str]) -> None:
    manifest = Manifest("c/s")
    for table, version in tries:
        manifest = made_now(manifest, table, version) or manifest
    manifest = manifest.accept("units", entry("units", 9, {}), ALL - gone)
    assert_closed(manifest)
    assert not gone & (set(manifest.accepted) | set(manifest.published))


def test_everything_made_once_in_order_is_published_at_once() -> None:
    manifest: Manifest | None = Manifest("c/s")
    for table in CONSUMES:
        assert manifest is not None
        manifest = made_now(manifest, table, 1)
    assert manifest is not None
    assert set(manifest.published) == ALL
    assert (manifest.held_back, manifest.waiting_for) == ((), ())


def test_a_new_registry_waits_for_the_lane_that_consumes_it() -> None:
    manifest = Manifest("c/s")
    for table in CONSUMES:
        manifest = made_now(manifest, table, 1) or manifest
    old = manifest.published
    for table in ("npc_candidates", "npcs", "interaction_candidates"):
        manifest = made_now(manifest, table, 2) or manifest
    assert manifest.published == old
    assert manifest.held_back == ("interaction_candidates", "npc_candidates", "npcs")
    assert manifest.waiting_for == ("interactions",)
    manifest = made_now(manifest, "interactions", 2) or manifest
    assert manifest.published == manifest.accepted
    assert manifest.held_back == ()
