"""Transcripts to measure on: the real sessions where they are there, else generated ones of the same size."""

from __future__ import annotations

import random
from pathlib import Path

import orjson

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "crd3"
GENERATED_SESSIONS = 40
GENERATED_UNITS = 2_500
WORDS = ("road", "bends", "north", "lamp", "burns", "low", "behind", "rain", "somebody", "hums", "slow", "tune", "salt")


def files(folder: Path) -> list[Path]:
    """Return transcript files, sorted; generated ones are written into `folder`."""
    if REAL.is_dir():
        return sorted(REAL.glob("C*.json"))
    return [_generate(folder / f"session-{n:03d}.json", n) for n in range(GENERATED_SESSIONS)]


def _generate(path: Path, seed: int) -> Path:
    rng = random.Random(seed)
    turns = [
        {
            "NAMES": [rng.choice(["DM", "ANA", "BO", "CY"])],
            "UTTERANCES": [" ".join(rng.choices(WORDS, k=rng.randint(3, 14))) for _ in range(rng.randint(1, 3))],
            "NUMBER": n,
        }
        for n in range(GENERATED_UNITS)
    ]
    path.write_bytes(orjson.dumps({"TURNS": turns}))
    return path


def pipeline(folder: Path, transcripts: list[Path]) -> Path:
    """Write a pipeline file over the transcripts and return its path."""
    listed = "".join(f"  - {orjson.dumps(str(p)).decode()}\n" for p in transcripts)
    path = folder / "pipeline.yaml"
    path.write_text(
        f"campaign: bench\ntranscripts:\n{listed}"
        "speakers:\n  dm: [MATT, DM]\n"
        "steps:\n"
        "  - name: registries\n    lanes:\n      - lane: dnd/npcs\n"
        "  - name: occurrences\n    lanes:\n      - lane: dnd/npc-interactions\n"
        "        references: {npcs: dnd/npcs}\n",
        encoding="utf-8",
    )
    return path
