"""`gate docs`: a readable page of a bundle, as Markdown and as one HTML file. Writes nothing into the bundle."""

from __future__ import annotations

from pathlib import Path

import click

from gate.cli.options import PATH, option, output_option
from gate.cli.rendering import cell, emit_json
from gate.compiler import compile_bundle
from gate.documents import visible
from gate.documents.releases import load_ledger
from gate.errors import EXIT_DENIED, GateError
from gate.release.docs import checklist, page_of
from gate.release.page import as_html, as_markdown


class DocsUnwritable(GateError):
    """The page could not be written."""

    code = "docs_unwritable"


@click.command()
@click.argument("bundle", type=PATH)
@option(
    "-o", "--out", type=PATH, default=Path("dist"), show_default=True, envvar="GATE_OUT", help="Folder to write to."
)
@option("--check", is_flag=True, envvar="GATE_CHECK", help="Write nothing; exit 3 when the pages there are not these.")
@output_option()
def docs(bundle: Path, out: Path, check: bool, output: str) -> None:
    """Write what BUNDLE permits, who approves what and what is refused: BUNDLE.md and BUNDLE.html.

    Made from the same documents and compiled rules as the decisions, with the line each rule comes from.
    """
    compiled = compile_bundle(bundle)
    blocks = page_of(compiled)
    name = compiled.bundle.name
    pages = {
        out / f"{name}.md": as_markdown(blocks, shown=visible),
        out / f"{name}.html": as_html(blocks, shown=visible),
    }
    stale = [path for path, text in pages.items() if _read(path) != text]
    if not check:
        _write(out, {path: pages[path] for path in stale})
    if output == "json":
        questions = checklist(compiled, load_ledger(compiled.bundle.folder))
        emit_json(
            {
                "files": [str(path) for path in pages],
                "changed": [str(path) for path in stale],
                "checklist": [{"question": q.text, "answer": q.answer} for q in questions],
            }
        )
    else:
        for path in pages:
            click.echo(f"{'changed' if path in stale else 'same   '}  {cell(str(path))}")
    if check and stale:
        raise click.exceptions.Exit(EXIT_DENIED)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _write(out: Path, pages: dict[Path, str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path, text in pages.items():
            path.write_bytes(text.encode("utf-8"))
    except OSError as exc:
        raise DocsUnwritable(f"cannot write to `{out}`", hint="check permissions and free space") from exc
