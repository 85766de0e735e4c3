"""A readable page as headings, paragraphs and tables, and the two forms it is written in: Markdown and one HTML file.

Pure. Text is escaped for the form it goes into, and never read as markup.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Shown = Callable[[str], str]
"""Makes characters visible that would hide or move others."""

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:92rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;display:block;overflow-x:auto;margin:1rem 0}
th,td{border:1px solid #ccc;padding:.35rem .6rem;
text-align:left;vertical-align:top;overflow-wrap:break-word}
th{background:#f3f3f3}code{background:#f3f3f3;padding:0 .2rem}h2{margin-top:2.5rem}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}th,code{background:#262626}th,td{border-color:#444}}
@media print{body{max-width:none}}
"""


@dataclass(frozen=True, slots=True)
class Code:
    """A word that is shown as it is written in the YAML."""

    text: str


Text = str | Code
Cell = Text | Sequence[Text]
"""A text, or several beside each other."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the page's title."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: Cell


@dataclass(frozen=True, slots=True)
class Table:
    """A table; each row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, as SVG that its maker escaped; Markdown leaves it out, the numbers are in a table besides."""

    svg: str


Block = Heading | Paragraph | Table | Figure


def as_markdown(blocks: Sequence[Block], *, shown: Shown) -> str:
    """The page as Markdown that ends in a newline."""
    parts: list[str] = []
    for block in blocks:
        match block:
            case Heading(level, text):
                parts.append(f"{'#' * level} {_md(text, shown)}")
            case Paragraph(text):
                parts.append(_md(text, shown))
            case Table(columns, rows):
                lines = [columns, tuple("---" for _ in columns), *(tuple(_md(c, shown) for c in row) for row in rows)]
                parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
            case Figure():
                continue
    return "\n\n".join(parts) + "\n"


def as_html(blocks: Sequence[Block], *, shown: Shown) -> str:
    """The page as one HTML document that loads nothing from elsewhere."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    body: list[str] = []
    for block in blocks:
        match block:
            case Heading(level, text):
                body.append(f"<h{level}>{_html(text, shown)}</h{level}>")
            case Paragraph(text):
                body.append(f"<p>{_html(text, shown)}</p>")
            case Table(columns, rows):
                head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
                lines = ["<tr>" + "".join(f"<td>{_html(cell, shown)}</td>" for cell in row) + "</tr>" for row in rows]
                body.append("\n".join(["<table>", f"<tr>{head}</tr>", *lines, "</table>"]))
            case Figure(svg):
                body.append(f"<figure>{svg}</figure>")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(shown(title))}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>\n",
        )
    )


def _parts(cell: Cell) -> Sequence[Text]:
    return (cell,) if isinstance(cell, (str, Code)) else cell


def _md(cell: Cell, shown: Shown) -> str:
    return _joined([_md_text(part, shown) for part in _parts(cell)])


def _joined(parts: Sequence[str]) -> str:
    """Side by side, a space between two unless the second begins with a mark."""
    return "".join(part if part[:1] in {",", ";", "."} else f" {part}" for part in parts).strip()


def _md_text(part: Text, shown: Shown) -> str:
    if isinstance(part, Code):
        text = shown(part.text)
        # Two backticks hold one; a bar would end the cell even there.
        quoted = f"`` {text} ``" if "`" in text else f"`{text}`"
        return quoted.replace("|", "\\|")
    text = shown(part)
    for char in "\\`*_[]<>|#":
        text = text.replace(char, f"\\{char}")
    return text


def _html(cell: Cell, shown: Shown) -> str:
    return _joined(
        [
            f"<code>{html.escape(shown(part.text))}</code>" if isinstance(part, Code) else html.escape(shown(part))
            for part in _parts(cell)
        ]
    )
