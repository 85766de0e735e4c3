"""Second pass: what the documents say of each other must hold. Every problem at once, each with its position.

Pure. Adds nothing to the bundle and repairs nothing. Where two documents disagree, the problem stands at the one that
refers, and its hint names the position of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gate.compiler.link_approvals import demanded, link_approvals
from gate.compiler.link_compaction import link_compaction
from gate.compiler.link_continuity import link_continuity
from gate.compiler.link_controls import link_predicates
from gate.compiler.link_evidence import link_evidence
from gate.compiler.link_governance import link_governance
from gate.compiler.link_limits import link_limits
from gate.compiler.link_runtime_controls import link_runtime_controls
from gate.compiler.link_trajectory import link_compound, link_trajectory
from gate.compiler.literal import CompileError, package_name
from gate.compiler.positions import BUNDLE, CATALOG, POLICY, at
from gate.documents import Bundle, Capability, tokens_of
from gate.documents import pointer_of as pointer
from gate.errors import BundleError, Problem


def link(bundle: Bundle) -> Bundle:
    """Returns `bundle` when its documents agree; raises `BundleError` with every disagreement otherwise."""
    problems = [p for check in _CHECKS for p in check(bundle)]
    if problems:
        raise BundleError(problems)
    return bundle


def _folder_names_a_package(bundle: Bundle) -> Iterator[Problem]:
    try:
        package_name(bundle.name)
    except CompileError:
        yield bundle.documents[BUNDLE].problem(
            "",
            "bundle_name_invalid",
            f"folder `{bundle.name!a}` cannot become a Rego package",
            "lower-case letters, digits and dashes, a letter first, no word of Rego",
        )


def _capabilities_have_policies(bundle: Bundle) -> Iterator[Problem]:
    catalog, policy = bundle.documents[CATALOG], bundle.documents[POLICY]
    for name in bundle.capabilities:
        if name not in bundle.policy.capabilities:
            yield catalog.problem(
                pointer("capabilities", name),
                "capability_without_policy",
                f"capability `{name}` has no decision in policy.yaml",
                f"add it under {at(policy, 'policy', 'capabilities', key=True)}",
                key=True,
            )


def _policies_name_capabilities(bundle: Bundle) -> Iterator[Problem]:
    catalog, policy = bundle.documents[CATALOG], bundle.documents[POLICY]
    for name, entry in bundle.policy.capabilities.items():
        if name not in bundle.capabilities and entry.decision != "deny":
            yield policy.problem(
                pointer("policy", "capabilities", name),
                "capability_unknown",
                f"`{name}` is not in the catalog, so it can only be denied",
                f"catalogue it under {at(catalog, 'capabilities', key=True)} or make the decision deny",
                key=True,
            )


def _catalog_is_consistent(bundle: Bundle) -> Iterator[Problem]:
    for name, capability in bundle.capabilities.items():
        yield from _catalog_entry(bundle, name, capability)


def _catalog_entry(bundle: Bundle, name: str, capability: Capability) -> Iterator[Problem]:
    document, here = bundle.documents[CATALOG], ("capabilities", name)
    if (capability.mode == "read") != (capability.side_effect == "none"):
        yield document.problem(
            pointer(*here, "side_effect"),
            "mode_side_effect_conflict",
            f"mode `{capability.mode}` and side_effect `{capability.side_effect}` of `{name}` contradict each other",
            "side_effect is none exactly when mode is read",
        )
    claimed = capability.mode == "write" or capability.approval != "none" or demanded(bundle, name)
    if claimed and not capability.identifying_arguments:
        yield document.problem(
            pointer(*here),
            "identifying_arguments_missing",
            f"`{name}` writes or needs an approval, but does not say which arguments identify one effect",
            "list the arguments whose equality means the same effect, as JSON pointers",
            key=True,
        )
    for index, place in enumerate(capability.identifying_arguments):
        if not _declared(capability, place):
            yield document.problem(
                pointer(*here, "identifying_arguments", index),
                "argument_undeclared",
                f"`{place}` is not an argument that `{name}` declares",
            )
    if capability.transport == "mcp" and capability.server is None:
        yield document.problem(
            pointer(*here), "server_missing", f"mcp capability `{name}` does not name its server", key=True
        )
    if capability.network_access != "none" and not capability.allowed_egress:
        yield document.problem(
            pointer(*here),
            "egress_policy_missing",
            f"capability `{name}` has network access but no allowed_egress",
            "list its destinations or set network_access to none",
            key=True,
        )
    if capability.network_access == "none" and capability.allowed_egress:
        yield document.problem(
            pointer(*here, "allowed_egress"),
            "egress_without_network",
            f"capability `{name}` has no network access and lists destinations all the same",
            "drop allowed_egress or say what network_access it has",
            key=True,
        )
    if capability.network_access not in bundle.policy.allow_network_access:
        policy = bundle.documents[POLICY]
        yield document.problem(
            pointer(*here, "network_access"),
            "network_access_not_allowed",
            f"network_access `{capability.network_access}` of `{name}` is not allowed by policy.yaml",
            f"see {at(policy, 'policy', 'execution', 'allow_network_access')}",
        )


def _declared(capability: Capability, place: str) -> bool:
    """True when the JSON pointer leads to a declared argument; below a list any index does."""
    node: Any = capability.arguments
    for name in tokens_of(place):
        if node.get("type") == "array":
            node = node.get("items", {})
        elif name in node.get("properties", {}):
            node = node["properties"][name]
        else:
            return False
    return True


def _redaction_names_capabilities(bundle: Bundle) -> Iterator[Problem]:
    for name, shown in bundle.meta.show_arguments.items():
        for index, place in enumerate(shown):
            if name in bundle.capabilities and not _declared(bundle.capabilities[name], place):
                yield bundle.documents[BUNDLE].problem(
                    pointer("bundle", "redaction_policy", "show_arguments", name, index),
                    "argument_undeclared",
                    f"`{place}` is not an argument that `{name}` declares",
                )
        if name not in bundle.capabilities:
            yield bundle.documents[BUNDLE].problem(
                pointer("bundle", "redaction_policy", "show_arguments", name),
                "capability_unknown",
                f"redaction_policy names `{name}`, which is not in the catalog",
                f"see {at(bundle.documents[CATALOG], 'capabilities', key=True)}",
                key=True,
            )


_CHECKS: tuple[Callable[[Bundle], Iterator[Problem]], ...] = (
    _folder_names_a_package,
    _capabilities_have_policies,
    _policies_name_capabilities,
    _catalog_is_consistent,
    link_approvals,
    _redaction_names_capabilities,
    link_predicates,
    link_limits,
    link_governance,
    link_evidence,
    link_runtime_controls,
    link_continuity,
    link_trajectory,
    link_compound,
    link_compaction,
)
