"""Names of people, folded as the core policies fold them, so that bundle and policies agree on who is one person.

Pure. `policies/gate/approval/names` says the same in Rego; a test holds the two together.
"""

from __future__ import annotations

import re

_LETTERS = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l"})
_PLAIN = re.compile(r"\A[ !#-\[\]-~]*\Z")


def folded(name: str) -> str:
    """`name` without case, spaces and the letters that look alike."""
    letters = name.strip().lower().replace(" ", "").translate(_LETTERS)
    return letters.replace("rn", "m").replace("vv", "w")


def plain(name: str) -> bool:
    """True when `name` is printable ASCII without quotes and backslashes: no look-alike can hide in it."""
    return _PLAIN.match(name.strip()) is not None
