"""The shipped bundle's sound document, and the ways in which a document can be damaged."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

Path_ = tuple[str | int, ...]

RETYPES: tuple[Any, ...] = (True, False, 0, -1, 1.5, "", "x", [], ["x"], {}, {"x": 1}, "allow", "approved", None)


def paths(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Every path below `value`, containers included."""
    items = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    for key, item in items:
        yield (*at, key)
        yield from paths(item, (*at, key))


def changed(document: dict[str, Any], at: Path_, value: Any, *, delete: bool = False) -> dict[str, Any]:
    """A copy of `document` with `value` at `at`, or without what stands there."""
    result = copy.deepcopy(document)
    target: Any = result
    for part in at[:-1]:
        target = target[part]
    if delete:
        del target[at[-1]]
    else:
        target[at[-1]] = copy.deepcopy(value)
    return result


def value_at(document: dict[str, Any], at: Path_) -> Any:
    """What stands at `at`."""
    value: Any = document
    for part in at:
        value = value[part]
    return value


def unlike_types(value: Any) -> list[Any]:
    """Values of every other JSON type than `value` has."""
    return [other for other in RETYPES if _kind(other) != _kind(value)]


def _kind(value: Any) -> str:
    return "number" if type(value) in {int, float} else type(value).__name__


def damaged(document: dict[str, Any], *, count: int, seed: int) -> Iterator[tuple[list[Path_], dict[str, Any]]]:
    """`count` documents, each with one to three fields deleted, nulled or retyped; and which. The same every time."""
    choose = random.Random(seed)
    for _ in range(count):
        result, touched = document, []
        for _ in range(choose.randint(1, 3)):
            at = choose.choice([p for p in paths(result) if p != ("request_id",) and value_at(result, p) is not None])
            way = choose.choice(("delete", "null", "retype"))
            value = choose.choice(unlike_types(value_at(result, at))) if way == "retype" else None
            result = changed(result, at, value, delete=way == "delete")
            touched.append(at)
        yield touched, result
