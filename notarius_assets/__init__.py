"""Evidence-cited records from transcripts of played D&D sessions, as Dagster assets.

The model proposes, plain code decides, and every record cites the units that prove it.
"""

__version__ = "0.1.0"
