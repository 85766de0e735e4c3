from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.canonical import digest
from gate.documents.releases import load_ledger, sealed, version_below, version_order
from gate.errors import BundleError

HEX = "a" * 64


def entry(version: str, *, at: str = "2026-01-01T00:00:00Z", previous: str | None = None, **changes: Any) -> Any:
    return {
        "version": version,
        "revision": f"b@{version}+{HEX}",
        "content_digest": f"sha256:{HEX}",
        "core_digest": f"sha256:{HEX}",
        "files": {"policy.yaml": f"sha256:{HEX}"},
        "release_identity": "release-1",
        "released_at": at,
        "decision_diff": "first" if previous is None else "none",
        "previous": previous,
        **changes,
    }


def ledger(folder: Path, *entries: Any) -> Path:
    (folder / "releases.yaml").write_text(yaml.safe_dump({"releases": list(entries)}), "utf-8")
    return folder


def codes(folder: Path) -> list[str]:
    with pytest.raises(BundleError) as caught:
        load_ledger(folder)
    return [problem.code for problem in caught.value.problems]


ASCENDING = [
    *("0.9", "1-alpha", "1-alpha.1", "1-beta", "1-rc2", "1-rc10", "1", "1+1", "1+2", "1.0", "1.2", "1.10", "1.10.0"),
    *("2", "2026.04.07", "2026.04.16", "2026.10.01"),
]


def test_versions_in_order_are_below_each_other_one_way_only() -> None:
    assert [version_below(a, b) for a, b in pairwise(ASCENDING)] == [True] * (len(ASCENDING) - 1)
    assert [version_below(b, a) for a, b in pairwise(ASCENDING)] == [False] * (len(ASCENDING) - 1)


@pytest.mark.parametrize(("one", "other"), [("1.0", "1.0"), ("2026.04.07", "2026.4.7"), ("1-rc1", "1-rc01")])
def test_spellings_of_one_version_are_below_neither_way(one: str, other: str) -> None:
    assert (version_below(one, other), version_below(other, one)) == (False, False)


def test_order_of_a_version_is_parts_and_what_separates_them() -> None:
    assert version_order("2026.04-rc1+x") == (2026, 3, 4, 0, "rc", 3, 1, 2, "x", 1)


def test_ledger_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert (load_ledger(tmp_path).releases, load_ledger(tmp_path).last) == ((), None)


def test_ledger_of_two_releases_is_read_whole(tmp_path: Path) -> None:
    first = entry("1.0")
    second = entry(
        "1.1",
        at="2026-02-01T00:00:00Z",
        previous=digest(first),
        change_id="chg-1",
        approver="ana@x",
        decision_diff="mixed",
    )
    found = load_ledger(ledger(tmp_path, first, second))
    assert [(r.version, r.decision_diff, r.change_id, r.approver) for r in found.releases] == [
        ("1.0", "first", None, None),
        ("1.1", "mixed", "chg-1", "ana@x"),
    ]
    assert found.last is found.releases[1]
    assert found.of("1.0") is found.releases[0]
    assert found.of("1.2") is None
    assert found.releases[0].released_at_ms == 1_767_225_600_000


def test_release_in_force_is_the_newest_that_was_made_by_then(tmp_path: Path) -> None:
    first = entry("1.0")
    found = load_ledger(ledger(tmp_path, first, entry("1.1", at="2026-01-02T00:00:00Z", previous=digest(first))))
    start = 1_767_225_600_000
    day = 86_400_000
    got = [found.at(now_ms) for now_ms in (start - 1, start, start + day - 1, start + day)]
    assert [None if r is None else r.version for r in got] == [None, "1.0", "1.0", "1.1"]


@pytest.mark.parametrize("field", sorted(entry("1")))
def test_entry_that_lacks_a_field_is_refused(tmp_path: Path, field: str) -> None:
    broken = entry("1")
    del broken[field]
    assert codes(ledger(tmp_path, broken)) == ["missing_key"]


def _rewritten(first: Any, second: Any) -> list[Any]:
    first["release_identity"] = "release-9"
    return [first, second]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (_rewritten, "ledger_rewritten"),
        (lambda first, second: [second], "ledger_rewritten"),
        (
            lambda first, second: [first, {**second, "version": "1.0", "revision": f"b@1.0+{HEX}"}],
            "ledger_out_of_order",
        ),
        (
            lambda first, second: [first, {**second, "version": "0.9", "revision": f"b@0.9+{HEX}"}],
            "ledger_out_of_order",
        ),
        (lambda first, second: [first, {**second, "released_at": "2025-12-31T00:00:00Z"}], "ledger_out_of_order"),
        (lambda first, second: [first, {**second, "revision": f"b@1.2+{HEX}"}], "ledger_rewritten"),
        (lambda first, second: [first, {**second, "decision_diff": "first"}], "ledger_rewritten"),
        (lambda first, second: [first, {**second, "released_at": "2026-01-01"}], "timestamp_without_offset"),
        (lambda first, second: [first, {**second, "note": "x"}], "unknown_key"),
        (lambda first, second: [first, {**second, "decision_diff": "fine"}], "schema_enum"),
        (lambda first, second: [], "schema_empty"),
        # The last entry has none behind it that holds its digest: it holds its own.
        (lambda first, second: [{**sealed({**first, "approver": "ana"}), "approver": "bob"}], "ledger_rewritten"),
        (lambda first, second: [sealed(first), {**second, "previous": digest(sealed(first))}], "ledger_rewritten"),
    ],
)
def test_ledger_that_was_edited_is_refused(tmp_path: Path, spoil: Callable[[Any, Any], list[Any]], code: str) -> None:
    first = entry("1.0")
    second = entry("1.1", at="2026-02-01T00:00:00Z", previous=digest(first))
    assert code in codes(ledger(tmp_path, *spoil(first, second)))


def test_ledger_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "releases.yaml").symlink_to(tmp_path / "elsewhere")
    assert codes(tmp_path) == ["document_not_regular"]
