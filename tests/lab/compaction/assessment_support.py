"""The refund desk with a contract of one rule in one language: small enough to be assessed in a test."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from gate.compiler import compile_bundle, write

RULE = "approval-required-25-to-100"


def small_bundle(repo: Path, folder: Path) -> Path:
    copy = folder / "refund-desk"
    shutil.copytree(repo / "bundles" / "refund-desk", copy)
    file = copy / "compaction.yaml"
    document: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    contract = document["compaction_release"]
    rule = contract["rules"][RULE]
    rule["wordings"] = [wording for wording in rule["wordings"] if wording["language"] == "en"]
    contract["rules"] = {RULE: rule}
    contract["invariants"]["required_rule_ids"] = [RULE]
    contract["runtime"] |= {"compaction_threshold": 300, "tighter_threshold": 200}
    file.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), "utf-8")
    write(compile_bundle(copy))
    return copy
