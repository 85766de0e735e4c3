"""Calls whose arguments two bundles take differently: valid, the same effect or approved before under one of them only.

Pure. The argument schema, the identifying arguments and the free ones are read by the gate and by no rule, so that a
document that states what the gate made of them would hide a change; `diff_settled` has each side's outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gate.documents import pointer_of, tokens_of
from gate.evidence.action import resolve
from gate.release.diff_base import RUN, sample
from gate.release.diff_documents import ABSENT, Candidate, Patch, value_at
from gate.release.diff_settled import GATHERED, STANDING
from gate.release.pattern_samples import samples

_READ = ("arguments", "identifying_arguments")
_UNLISTED = "argument_nobody_lists"
_APPROVED = "sha256:" + "8" * 64
_MOST_DEPTH = 4
_MOST_SHOWN = 40


def gathered(base: Candidate, sides: Sequence[Mapping[str, Any]]) -> Iterator[Candidate]:
    """`base`, a call, with arguments at their bounds, after a like one, and under what stands, where `sides` differ."""
    name = value_at(base.base, ("request", "capability"))
    arguments = value_at(base.base, ("request", "arguments"))
    entries = [facts["capabilities"][name] for facts in sides if name in facts["capabilities"]]
    if not isinstance(arguments, Mapping):
        return
    terms = [facts["contracts"].get(name, {}).get("standing") for facts in sides]
    if _differ(terms) and isinstance(value_at(base.base, ("state", "approval")), Mapping):
        for argument in arguments:
            for other in _changed(arguments, pointer_of(argument)):
                yield _standing(base, name, arguments, other)
    if not _differ([[entry.get(key) for key in _READ] for entry in entries]):
        return
    pointers = sorted({pointer for entry in entries for pointer in entry.get("identifying_arguments") or ()})
    others = [other for pointer in pointers for other in _changed(arguments, pointer)]
    for other in others:
        earlier = {"state": {"side_effect": _marker("effect", name, other, earlier=dict(arguments), run_id=RUN)}}
        yield _passing(base, name, other, f"after one and {_difference(arguments, other)}", earlier)
    seen = list(map(json.dumps, others))
    for other in (other for entry in entries for other in instances(entry.get("arguments"), arguments)):
        if json.dumps(other) not in seen:
            seen.append(json.dumps(other))
            yield _passing(base, name, other, _difference(arguments, other), {})


def _differ(values: Sequence[Any]) -> bool:
    return len({json.dumps(value, sort_keys=True) for value in values}) > 1


def _standing(base: Candidate, name: str, arguments: Mapping[str, Any], other: Mapping[str, Any]) -> Candidate:
    """A call with other arguments than those its approval was given for, as far as each side lets it stand for them."""
    approved = value_at(base.base, ("state", "approval"))
    signed = {"action_digest": _APPROVED, "standing_digest": STANDING}
    votes = [{**vote, **signed} for vote in approved.get("votes") or ()]
    more = {
        "state": {"approval": {**approved, **signed, "votes": votes}},
        "digests": {"standing_digest": _marker("standing", name, other, earlier=dict(arguments))},
    }
    return _passing(base, name, other, f"under what stands and {_difference(arguments, other)}", more)


def instances(schema: Any, value: Any, depth: int = 0) -> Iterator[Any]:
    """Values like `value` at each bound of an argument schema and on each side of it, one at a time."""
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH:
        return
    if isinstance(schema.get("properties"), Mapping):
        held = dict(value) if isinstance(value, Mapping) else {}
        for name, inner in schema["properties"].items():
            for other in instances(inner, held.get(name, sample(inner)), depth + 1):
                yield {**held, name: other}
            yield {key: item for key, item in held.items() if key != name}
            yield {**held, name: held.get(name, sample(inner))}
        yield {**held, _UNLISTED: "x"}
        return
    yield from (item for item in schema.get("enum", ()) if item != value)
    for bound in (schema[key] for key in _BOUNDS if isinstance(schema.get(key), (int, float))):
        yield from (bound, bound - 1, bound + 1)
    for length in (schema[key] for key in ("minLength", "maxLength") if isinstance(schema.get(key), int)):
        yield from ("x" * size for size in (length, length - 1, length + 1) if size >= 0)
    for length in (schema[key] for key in ("minItems", "maxItems") if isinstance(schema.get(key), int)):
        yield from ([sample(schema.get("items"))] * size for size in (length, length - 1, length + 1) if size >= 0)
    if isinstance(schema.get("items"), Mapping):
        yield from ([other] for other in instances(schema["items"], sample(schema["items"]), depth + 1))
    if isinstance(schema.get("pattern"), str):
        yield from samples(schema["pattern"])
    yield from (7, 0.5, "harmless text", True, None, [], {})


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const")


def _marker(what: str, capability: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {GATHERED: what, "capability": capability, "arguments": arguments, **more}


def _passing(
    base: Candidate, capability: str, arguments: Mapping[str, Any], what: str, more: Mapping[str, Mapping[str, Any]]
) -> Candidate:
    """A base of its own: what is gathered follows from the arguments, and is no difference without them."""
    document = base.base
    found = {name: _marker(name, capability, arguments) for name in ("valid", "identified")}
    evidence = {"arguments": {**(document["evidence"].get("arguments") or {}), **found}}
    made = {
        **document,
        "request": {**document["request"], "arguments": dict(arguments)},
        "evidence": {**document["evidence"], **evidence},
        "state": {**document["state"], **more.get("state", {})},
        "digests": {**document["digests"], **more.get("digests", {})},
    }
    return replace(base, name=f"{base.name} {what}", base=made)


def _difference(arguments: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    names = [name for name in {**arguments, **other} if arguments.get(name, ABSENT) != other.get(name, ABSENT)]
    parts = [f"{name} {_short(other[name])}" if name in other else f"no {name}" for name in names]
    return f"with {', '.join(parts)}" if parts else "with the same arguments"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"of {len(text)} characters"


def _changed(arguments: Mapping[str, Any], pointer: str) -> Iterator[dict[str, Any]]:
    """The arguments with another value at `pointer`, and with none."""
    path = tuple(tokens_of(pointer))
    before = resolve(arguments, pointer)
    match before:
        case bool():
            values: list[Any] = [not before]
        case int() | float():
            values = [before + 1, before - 1]
        case str():
            values = [before[:-1] + ("y" if before[-1:] != "y" else "z")]
        case _:
            values = ["another"]
    for value in (*values, ABSENT):
        made = Candidate(origin="generated", name="", base=dict(arguments), patches=(Patch(path, value),)).document({})
        yield made


__all__ = ["gathered", "instances"]
