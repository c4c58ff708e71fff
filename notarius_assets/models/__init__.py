"""Who answers a window: `rules`, offline; every provider gives the same private response."""
