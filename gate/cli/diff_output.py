"""A comparison of two bundles for people and for forges: text, Markdown, workflow commands, SARIF.

Renders what `gate.release.diff` found; finds nothing. Of a recorded input only the line is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Set
from typing import Any

from gate.cli.annotations import sarif_log, sarif_result, workflow_command
from gate.cli.rendering import quoted
from gate.documents import visible
from gate.release.diff import Change, DecisionDiff, Witness
from gate.release.diff_documents import ABSENT
from gate.release.diff_rego import Hunk, Place

_TITLES = {
    "newly_allowed": "newly allowed",
    "newly_needing_approval": "newly needing approval",
    "newly_refused": "newly refused",
    "other": "other",
}
_WHY = {
    "no_input": "the record keeps no input",
    "input_erased": "what a changed rule looks at was erased",
    "not_reproduced": "neither side decides as was recorded",
    "lacks_field": "the record lacks what a changed rule looks at",
}
_MOST_LINES = 400
_MOST_CHARACTERS = 60_000
"""A comment on GitHub holds 65,536."""


def as_text(diff: DecisionDiff) -> Iterator[str]:
    """Lines for a terminal."""
    yield f"{visible(diff.old)} -> {visible(diff.new)}: {diff.label}"
    yield f"tried {_tried(diff)}"
    for hunk in diff.rego.hunks:
        yield ""
        yield visible(f"{hunk.change} {hunk.rule} {hunk.title}".rstrip()) + f"  ({visible(_places(hunk))})"
        yield from (f"  {visible(line.expandtabs(2))}" for line in hunk.lines)
    if diff.rego.moved:
        yield f"{diff.rego.moved} rules only moved in their YAML"
    for group, title in _TITLES.items():
        members = [change for change in diff.changes if change.group == group]
        if members:
            yield ""
            yield f"{title}: {sum(change.count for change in members)}"
            for change in members:
                yield from _change(change)
    if diff.unknown:
        yield ""
        yield f"cannot tell: {len(diff.unknown)} recorded decisions"
        for one in diff.unknown:
            fields = f" ({', '.join(map(visible, one.fields))})" if one.fields else ""
            alike = f"; {one.alike} like it come out otherwise" if one.alike else ""
            yield f"  {visible(one.name)}: {_WHY[one.why]}{fields}{alike}"


def _change(change: Change) -> Iterator[str]:
    witness = change.witness
    yield f"  {visible(change.about)} x{change.count}, {change.direction}: {_arrow(witness)}"
    yield f"    witness  {_witness(witness)}"
    if change.places:
        yield f"    see      {', '.join(visible(str(place)) for place in change.places[:4])}"


def _witness(witness: Witness) -> str:
    named = f"{witness.origin} {visible(witness.name)}"
    if witness.origin == "recorded" or not witness.patches:
        return named
    return f"{named} with " + ", ".join(
        f"{visible(path)} {'absent' if value is ABSENT else '= ' + quoted(value)}" for path, value in witness.patches
    )


def _arrow(witness: Witness) -> str:
    old, new = witness.old, witness.new
    parts = [
        f"{name} {_set(set(one), set(two))}"
        for name, one, two in (("reasons", old.codes, new.codes), ("advice", old.advice, new.advice))
        if set(one) != set(two)
    ]
    if old.obligations != new.obligations:
        parts.insert(1 if old.codes != new.codes else 0, f"obligations {_duties(old.obligations, new.obligations)}")
    verdict = f"{old.verdict} both" if old.verdict == new.verdict else f"{old.verdict} -> {new.verdict}"
    return f"{verdict}, " + ("; ".join(parts) or "other rules behind the same reasons")


def _duties(old: Iterable[str], new: Iterable[str]) -> str:
    """What the gate must do: what it need not any more, what it must besides, and how the rest changes."""
    before, after = ({str(one.pop("type")): one for one in map(json.loads, side)} for side in (old, new))
    words = _set(before.keys() - after.keys(), after.keys() - before.keys())
    found = [words] if words else []
    for kind in sorted(before.keys() & after.keys()):
        one, two = before[kind], after[kind]
        changed = [key for key in sorted(one.keys() | two.keys()) if one.get(key) != two.get(key)]
        found += [f"{kind} {key} {_said(one.get(key))} -> {_said(two.get(key))}" for key in changed]
    return visible(", ".join(found) or "in another order")


def _said(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value) or "none"
    return json.dumps(value)


def _set(old: Set[str], new: Set[str]) -> str:
    return " ".join([*(f"-{visible(x)}" for x in sorted(old - new)), *(f"+{visible(x)}" for x in sorted(new - old))])


def _tried(diff: DecisionDiff) -> str:
    counts = diff.tried
    return f"{counts['golden']} golden, {counts['recorded']} recorded and {counts['generated']} generated inputs"


def _places(hunk: Hunk) -> str:
    old = "nothing" if hunk.old is None else str(hunk.old)
    new = "nothing" if hunk.new is None else str(hunk.new)
    return f"{old} -> {new}"


def as_markdown(diff: DecisionDiff) -> str:
    """A comment for a pull request; cut, saying so, where it would not fit."""
    lines = [
        f"### Policy decisions: **{diff.label}**",
        "",
        f"{_code(diff.old)} → {_code(diff.new)}; tried {_tried(diff)}.",
    ]
    if diff.changes:
        lines += [
            "",
            "| what | about | inputs | before → after | smallest witness | where |",
            "|---|---|--:|---|---|---|",
        ]
        for change in diff.changes:
            where = ", ".join(_code(str(place)) for place in change.places[:3])
            row = (
                f"{_TITLES[change.group]} ({change.direction})",
                _code(change.about),
                str(change.count),
                _cell(_arrow(change.witness)),
                _code(_witness(change.witness)),
                where,
            )
            lines.append(f"| {' | '.join(row)} |")
    else:
        lines += ["", "No decision differs on the inputs tried."]
    if diff.unknown:
        lines += ["", f"Of {len(diff.unknown)} recorded decisions nothing can be told:", ""]
        lines += [f"- {_code(one.name)}: {_WHY[one.why]}" for one in diff.unknown[:20]]
    if diff.rego.hunks:
        lines += ["", f"<details><summary>Compiled Rego: {len(diff.rego.hunks)} rules differ</summary>", ""]
        for hunk in diff.rego.hunks:
            lines += [f"**{hunk.change}** {_code(f'{hunk.rule} {hunk.title}'.strip())}, {_code(_places(hunk))}", ""]
            lines += ["````diff", *(visible(line.expandtabs(2)) for line in hunk.lines[:_MOST_LINES]), "````", ""]
        lines.append("</details>")
    lines += [f"\n> {_cell(visible(note))}" for note in diff.notes]
    return _cut(lines)


def _cut(lines: list[str]) -> str:
    text = "\n".join(lines)
    if len(text) <= _MOST_CHARACTERS:
        return text
    kept = text[:_MOST_CHARACTERS].rpartition("\n")[0]
    inside = kept.count("````") % 2 == 1
    folded = kept.count("<details>") > kept.count("</details>")
    return kept + ("\n````" if inside else "") + ("\n</details>" if folded else "") + "\n\n_Cut: it does not fit._"


def _code(text: str) -> str:
    """Text in backticks, inside a cell of a table or out of it."""
    shown = visible(text).replace("`", "'")
    return f"`{shown}`".replace("|", "\\|")


def _cell(text: str) -> str:
    for char in "\\`*_[]<>|":
        text = text.replace(char, f"\\{char}")
    return text


def _summary(change: Change) -> str:
    inputs = "1 input" if change.count == 1 else f"{change.count} inputs"
    shown = f"{_arrow(change.witness)}; {inputs}, e.g. {_witness(change.witness)}"
    return f"{_TITLES[change.group]}: {visible(change.about)}, {shown}"


def _level(change: Change, failing: bool) -> str:
    looser = change.direction in {"loosens", "mixed"}
    return "error" if failing and looser else ("warning" if looser else "notice")


def as_github(diff: DecisionDiff, *, failing: bool) -> Iterator[str]:
    """Workflow commands: what loosens is a warning, an error when the command fails for it, the rest a notice."""
    for change in diff.changes:
        place = _first(change)
        title = f"{_TITLES[change.group]} ({change.direction})"
        yield workflow_command(
            _level(change, failing),
            visible(_summary(change)),
            title=title,
            file=place.file if place else None,
            line=place.line if place else None,
        )


def as_sarif(diff: DecisionDiff, *, failing: bool) -> dict[str, Any]:
    """A SARIF log with one result a change."""
    return sarif_log(
        sarif_result(
            change.group,
            _level(change, failing).replace("notice", "note"),
            visible(_summary(change)),
            [(place.file, place.line, None) for place in change.places[:10] if place.line is not None],
        )
        for change in diff.changes
    )


def _first(change: Change) -> Place | None:
    return next((place for place in change.places if place.line is not None), None)
