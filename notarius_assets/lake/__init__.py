"""The lake: one accepted file a table and session, a manifest that names the set, a history that people query."""
