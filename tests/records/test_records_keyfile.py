from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from gate.errors import InputError
from gate.records import ReviewerKey, generate_key, read_key_file, write_key_file

PRIVATE = generate_key()[0]
KEY = ReviewerKey(reviewer="mira-manager", key_id="mira-manager-2026", private_key=PRIVATE)


def _code(call: Any) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert PRIVATE not in f"{caught.value}{caught.value.__cause__}"
    return caught.value.code


def test_key_file_is_read_back_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    old = os.umask(0)
    try:
        write_key_file(path, KEY)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key_file(path) == KEY
    assert json.loads(path.read_text()) == {
        "reviewer": "mira-manager",
        "key_id": "mira-manager-2026",
        "private_key": PRIVATE,
    }


def test_key_does_not_show_in_its_repr() -> None:
    assert PRIVATE not in repr(KEY)


def test_key_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text("mine")
    assert _code(lambda: write_key_file(path, KEY)) == "key_file_exists"
    assert path.read_text() == "mine"


def test_key_file_is_not_written_through_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "key.json").symlink_to(tmp_path / "elsewhere")
    assert _code(lambda: write_key_file(tmp_path / "key.json", KEY)) == "key_file_exists"
    assert not (tmp_path / "elsewhere").exists()


def test_key_file_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert _code(lambda: write_key_file(tmp_path / "none" / "key.json", KEY)) == "key_file_unwritable"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666])
def test_key_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key.json"
    write_key_file(path, KEY)
    path.chmod(mode)
    assert _code(lambda: read_key_file(path)) == "key_file_exposed"


def test_key_file_that_is_absent_a_folder_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    codes = [_code(lambda n=n: read_key_file(tmp_path / n)) for n in ("none", "pipe", "folder")]
    assert codes == ["key_file_unreadable"] * 3


GOOD = {"reviewer": "r", "key_id": "k", "private_key": PRIVATE}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        json.dumps(GOOD)[:-1],
        json.dumps({**GOOD, "extra": "x"}),
        json.dumps({k: v for k, v in GOOD.items() if k != "reviewer"}),
        json.dumps({**GOOD, "key_id": ""}),
        json.dumps({**GOOD, "key_id": 3}),
        json.dumps({**GOOD, "private_key": PRIVATE[:-4]}),
        '{"reviewer":"a",' + json.dumps(GOOD)[1:],
        json.dumps(GOOD) + " " * 5000,
    ],
)
def test_key_file_with_other_content_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.json"
    path.write_text(text)
    path.chmod(0o600)
    assert _code(lambda: read_key_file(path)) == "key_file_malformed"
