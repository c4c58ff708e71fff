"""The way of the data as plain functions: extract, normalize, decide what is current, run one step of one session."""
