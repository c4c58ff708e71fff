"""The `rules` proposer: answers a window offline and deterministically, from word lists declared beside it in YAML."""
