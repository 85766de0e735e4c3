"""`python -m gate.cli`: the command line without its script. Nothing else is here."""

from __future__ import annotations

from gate.cli import main

main()
