"""Names of the code location, its partitions, jobs and sensors; a prefix keeps two pipelines apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from notarius_assets.pipeline import Pipeline

CODE_LOCATION = "notarius_assets"
"""The name under which the Dagster UI lists the pipeline, however it was started."""

LAUNCHER_TAG = "notarius/launcher"
"""Marks the runs of `notarius run`, so that one killed half-way is found and ended by the next."""

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration of runs in our own process: Dagster's event lines stay out of the terminal."""

HISTORY = "campaign_history"


@dataclass(frozen=True)
class Names:
    """Names of one pipeline in a code location."""

    pipeline: Pipeline
    prefix: tuple[str, ...] = ()

    @classmethod
    def of(cls, pipeline: Pipeline, prefix: Sequence[str] = ()) -> Names:
        """Names with a key prefix, which may be empty."""
        return cls(pipeline, tuple(prefix))

    def key(self, table: str) -> dg.AssetKey:
        """The asset key of a table."""
        return dg.AssetKey([*self.prefix, table])

    def own(self, name: str) -> str:
        """A job's or sensor's name."""
        return "_".join((*self.prefix, name))

    @property
    def lake(self) -> str:
        """The key of the lake's resource."""
        return self.own("lake")

    @property
    def model(self) -> str:
        """The key of the model's resource."""
        return self.own("model")

    @property
    def partitions(self) -> dg.DynamicPartitionsDefinition:
        """One dynamic partition a session; its key is the source_id.

        With a prefix they are the pipeline's own: an instance keeps partitions by name alone, and two pipelines of one
        campaign may read different transcripts.
        """
        return dg.DynamicPartitionsDefinition(name=self.own(f"sessions_of_{self.pipeline.campaign}"))
