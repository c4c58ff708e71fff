"""Dagster: assets, checks, jobs, sensors, made from the lanes; besides `component.py` nothing else imports dagster."""
