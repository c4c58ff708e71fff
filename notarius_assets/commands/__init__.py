"""What the verbs of `notarius` do; `cli` only reads their arguments."""
