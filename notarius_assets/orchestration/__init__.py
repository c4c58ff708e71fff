"""Dagster: assets, checks, jobs, sensors, made from the lanes; the only room that imports dagster."""
