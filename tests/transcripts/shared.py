"""The sample files that are read in place, beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
INPUTS = DATA / "inputs"
CRD3 = DATA / "crd3"
GOLD = DATA / "gold"

needs_inputs = pytest.mark.skipif(not INPUTS.is_dir(), reason=f"no sample inputs at {INPUTS}")
needs_crd3 = pytest.mark.skipif(not CRD3.is_dir(), reason=f"no CRD3 sessions at {CRD3}")
needs_gold = pytest.mark.skipif(not GOLD.is_dir(), reason=f"no gold excerpts at {GOLD}")

unhurried = settings(deadline=None)
"""For properties: the inputs are small, and a busy machine is no error."""
