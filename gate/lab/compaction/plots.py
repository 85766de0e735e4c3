"""Plots as inline SVG: lines by round, and stacked bars of tokens by lane. Pure; every text in them is escaped.

Each plot has a title and a description for who cannot see it, and no colour is the only mark of a line.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 170, 34, 30
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6f6f6f", "#8a5a00", "#5e3c99")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 4", "12 3 3 3", "3 1")


def lines(title: str, series: Mapping[str, Sequence[float]], rounds: Sequence[int]) -> str:
    """One line for each of `series`, shares from 0 to 1 by round."""
    parts = [*_frame(title, _described(series, rounds)), *_shares()]
    for index, (name, values) in enumerate(series.items()):
        colour, dash = _COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)]
        points = [(_x(at, len(rounds)), _y(value)) for at, value in enumerate(values)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        stroke = f'stroke="{colour}" stroke-width="2" fill="none" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{drawn}" {stroke}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
        parts += _legend(index, name, colour)
    parts += [_text(_x(at, len(rounds)), HEIGHT - 10, str(number), "middle") for at, number in enumerate(rounds)]
    return "".join((*parts, "</svg>"))


def bars(title: str, stacks: Sequence[Mapping[str, int]], rounds: Sequence[int]) -> str:
    """One bar a round, stacked by the names in `stacks`, which are the same in each."""
    highest = max((sum(stack.values()) for stack in stacks), default=0) or 1
    names = list(stacks[0]) if stacks else []
    parts = [*_frame(title, _described({name: [s[name] for s in stacks] for name in names}, rounds))]
    parts.append(_text(_LEFT - 6, _TOP + 4, f"{highest}", "end"))
    parts.append(_text(_LEFT - 6, HEIGHT - _BOTTOM, "0", "end"))
    for at, (number, stack) in enumerate(zip(rounds, stacks, strict=True)):
        bottom, middle = float(HEIGHT - _BOTTOM), _x(at, len(rounds))
        for index, name in enumerate(names):
            tall = stack[name] / highest * (HEIGHT - _TOP - _BOTTOM)
            bottom -= tall
            place = f'x="{middle - 18:.1f}" y="{bottom:.1f}" width="36" height="{tall:.1f}"'
            parts.append(f'<rect {place} fill="{_COLOURS[index % len(_COLOURS)]}" stroke="#fff"/>')
        parts.append(_text(middle, HEIGHT - 10, str(number), "middle"))
    for index, name in enumerate(names):
        parts += _legend(index, name, _COLOURS[index % len(_COLOURS)])
    return "".join((*parts, "</svg>"))


def _frame(title: str, described: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" width="{WIDTH}"'
        f' font-family="system-ui,sans-serif" font-size="11" fill="currentColor">',
        f"<title>{html.escape(title)}</title><desc>{html.escape(described)}</desc>",
        f'<text x="{_LEFT}" y="18" font-size="13" font-weight="bold">{html.escape(title)}</text>',
        f'<line x1="{_LEFT}" y1="{HEIGHT - _BOTTOM}" x2="{WIDTH - _RIGHT}" y2="{HEIGHT - _BOTTOM}"'
        ' stroke="currentColor"/>',
    ]


def _shares() -> list[str]:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        parts.append(
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}" stroke="currentColor" opacity=".2"/>'
        )
        parts.append(_text(_LEFT - 6, y + 4, f"{share:.0%}", "end"))
    return parts


def _legend(index: int, name: str, colour: str) -> list[str]:
    y = _TOP + 8 + index * 18
    return [
        f'<rect x="{WIDTH - _RIGHT + 14}" y="{y - 8}" width="10" height="10" fill="{colour}"/>',
        _text(WIDTH - _RIGHT + 30, y + 1, name, "start"),
    ]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _x(at: int, count: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * (at + 0.5) / max(1, count)


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _described(series: Mapping[str, Sequence[float]], rounds: Sequence[int]) -> str:
    said = "; ".join(f"{name}: {', '.join(f'{value:g}' for value in values)}" for name, values in series.items())
    return f"by round {', '.join(map(str, rounds))}. {said}"
