"""Mutants as bundles: what each compiles to, and whether that is other Rego than the bundle's own.

Pure: what a mutant shares with its bundle is neither read nor checked again, and nothing is written.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import yaml

from gate.compiler import Compiled, assemble
from gate.compiler.compile import compile_linked
from gate.compiler.link import link
from gate.documents import with_document
from gate.errors import BundleError
from gate.release.mutants import Mutant
from gate.release.mutants_same import indistinct
from gate.release.rego_text import RegoText

COMPILED = ("gate/bundles/", "gate/agents/")
"""Where the modules of a bundle lie inside the OPA bundle, as opposed to the core policies."""


class Compiler:
    """Compiles the mutants of one bundle."""

    def __init__(self, compiled: Compiled) -> None:
        self._base = compiled
        self._plain = _plain(compiled)

    def compile(self, mutant: Mutant, name: str) -> Compiled | None:
        """The mutant as a bundle called `name`, so that many can be loaded at once; None when it does not compile."""
        text = yaml.dump(mutant.value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)
        try:
            return compile_linked(link(with_document(self._base.bundle, mutant.file, text, name=name)))
        except BundleError:
            return None

    def same(self, other: Compiled) -> bool:
        """Whether `other` compiles to the Rego of the bundle, or to data that no rule tells apart."""
        after = _plain(other)
        files = [file for file in {**self._plain, **after} if self._plain.get(file) != after.get(file)]
        before, since = (
            RegoText.read({file: texts[file] for file in files if file in texts}).rules
            for texts in (self._plain, after)
        )
        seen = {rule.text for rule in before} & {rule.text for rule in since}
        changed = [rule for rule in (*before, *since) if rule.text not in seen]
        return not changed or indistinct(changed, self.core, self._own)

    @cached_property
    def core(self) -> dict[str, str]:
        """The hand-written policies, Rego text by path inside the OPA bundle."""
        modules = assemble([self._base]).modules
        return {path: text for path, text in modules.items() if not path.startswith(COMPILED)}

    @cached_property
    def _own(self) -> RegoText:
        return RegoText.read(self._plain)


class _Dumper(yaml.SafeDumper):
    """No anchors: the loader refuses them."""

    def ignore_aliases(self, data: object) -> bool:
        """Writes every value out."""
        return True


def renamed(compiled: Compiled, package: str) -> Compiled:
    """The same bundle under another name of its package."""
    old, new = (f"package gate.bundles.{name}\n" for name in (compiled.package, package))
    rego = {file: text.replace(old, new, 1) for file, text in compiled.rego.items()}
    return dataclasses.replace(compiled, package=package, rego=rego)


def _plain(compiled: Compiled) -> dict[str, str]:
    return dict(renamed(compiled, "x").rego)
