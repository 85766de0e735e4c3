"""Core policies, compiled bundles and the agent table as one set of modules: what an engine loads, and its revision.

Reads the packaged policies; writes nothing. Two bundles that would share a package, or an agent, are an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.canonical import digest, digest_bytes
from gate.compiler.compile import Compiled
from gate.compiler.emit import emit_module
from gate.compiler.model import Constant, Module
from gate.compiler.positions import BUNDLE
from gate.documents import pointer_of as pointer
from gate.documents import policies_dir
from gate.errors import BundleError, Problem


@dataclass(frozen=True, slots=True)
class Assembly:
    """Everything an engine loads."""

    modules: Mapping[str, str]
    """Rego text by path inside the OPA bundle, sorted."""
    content_digest: str
    """Digest over every path and text: core policies, agent table and all bundles."""
    revision: str
    """`<bundle_id>@<version>+<64 hex>`, or `linked@<64 hex>` for several bundles."""
    bundles: tuple[str, ...]
    """`<bundle_id>@<version>` of each bundle."""


def assemble(compiled: Sequence[Compiled]) -> Assembly:
    """Links the compiled bundles with the core policies. Raises `BundleError` for clashing names or agents."""
    modules = {
        f"gate/{path.relative_to(policies_dir() / 'gate').as_posix()}": path.read_text("utf-8")
        for path in sorted((policies_dir() / "gate").rglob("*.rego"))
        if not path.name.endswith("_test.rego")
    }
    for one in compiled:
        modules |= {f"gate/bundles/{one.package}/{file}": text for file, text in one.rego.items()}
    modules["gate/agents/agents.rego"] = _agents(compiled)
    modules = dict(sorted(modules.items()))
    content = digest({path: digest_bytes(text.encode()) for path, text in modules.items()})
    bundles = tuple(f"{one.bundle.meta.bundle_id}@{one.bundle.meta.version}" for one in compiled)
    name = bundles[0] + "+" if len(bundles) == 1 else "linked@"
    return Assembly(modules, content, name + content.removeprefix("sha256:"), bundles)


def _agents(compiled: Sequence[Compiled]) -> str:
    owner: dict[str, Compiled] = {}
    packages: dict[str, Compiled] = {}
    problems: list[Problem] = []
    for one in compiled:
        document = one.bundle.documents[BUNDLE]
        first = packages.setdefault(one.package, one)
        if first is not one:
            problems.append(
                document.problem(
                    "",
                    "bundle_name_collides",
                    f"bundles `{first.bundle.folder}` and `{one.bundle.folder}` both become package `{one.package}`",
                )
            )
        for index, agent in enumerate(one.bundle.meta.agent_ids):
            governed = owner.setdefault(agent, one)
            if governed is not one:
                problems.append(
                    document.problem(
                        pointer("bundle", "applies_to", "agent_ids", index),
                        "agent_governed_twice",
                        f"agent `{agent}` is already governed by bundle `{governed.bundle.meta.bundle_id}`",
                    )
                )
    if problems:
        raise BundleError(problems)
    table = Constant(
        name="bundle_of",
        value={agent: one.package for agent, one in owner.items()},
        title="Bundle that governs each agent",
        source=f"{BUNDLE}#{pointer('bundle', 'applies_to', 'agent_ids')}",
    )
    return emit_module(
        Module("agents.rego", "Which bundle governs which agent", (table,), documents_package=True),
        "gate.agents",
    )
