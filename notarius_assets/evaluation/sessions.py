"""Which session of a campaign a gold file was read from."""

from __future__ import annotations

from pathlib import Path

from notarius_assets.evaluation.gold import Gold, stem
from notarius_assets.identity import slug

_MARKS = (".registry",)
"""What a gold file's name may say about its contents, beside the session's name."""

_PREFIXES = ("session-",)


def session_candidates(gold_path: Path, gold: Gold) -> tuple[str, ...]:
    """Return session slugs to try, best first: by the file's name, with and without `.transcript`, then by source.

    The slug of the source comes last because an excerpt names the episode it was cut from: a session of that name
    may be the whole episode, where unit 1 is another turn. Take it only if the session has `gold.length` units.
    """
    names = [stem(gold_path)]
    for mark in _MARKS:
        names += [n.removesuffix(mark) for n in names]
    for prefix in _PREFIXES:
        names += [n.removeprefix(prefix) for n in names]
    tried = [slug(form) for name in names if slug(name) for form in (name, f"{name}.transcript")]
    tried.append(slug(gold.source))
    return tuple(dict.fromkeys(s for s in tried if s))
