"""`python -m notarius_assets` is `notarius`."""

from notarius_assets.cli import main

main()
