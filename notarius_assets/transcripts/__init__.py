"""From a transcript file to units and chunks: readers found by content, one module a format."""
