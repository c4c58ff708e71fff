"""Which records of a registry are one: proposals of groups, their assessment, and what is made of them.

Nothing here asks anybody; whoever proposes, the groups are judged and applied by the same code.
"""
