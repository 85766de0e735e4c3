"""What an operator says about the controls around an agent: signals, from a file and from `key=value`.

Pure but for reading the file. Knows no control and decides nothing; a signal that was not given is not made up. The
texts are those operators know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gate.documents.files import read_document
from gate.errors import EXIT_USAGE, BundleError, InputError

_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
_IN_FILE = {
    "yaml_root_not_mapping": "Assessment signals must be a mapping",
    "yaml_empty": "Assessment signals must be a mapping",
    "yaml_key_not_string": "Assessment signal key must be a string",
    "yaml_duplicate_key": "Assessment signal keys must be unique",
}


class SignalError(InputError):
    """A signal cannot be understood; nothing was assessed."""

    code = "signal_invalid"
    exit_code = EXIT_USAGE


def checked_signals(signals: Any) -> dict[str, bool]:
    """`signals`, each name without outer space. Raises `SignalError` for anything but names with true or false."""
    if not isinstance(signals, Mapping):
        raise SignalError("Assessment signals must be a mapping")
    checked: dict[str, bool] = {}
    for key, value in signals.items():
        if not isinstance(key, str):
            raise SignalError("Assessment signal key must be a string")
        name = key.strip()
        if not name:
            raise SignalError("Assessment signal key must not be empty")
        if name in checked:
            raise SignalError("Assessment signal keys must be unique")
        if not isinstance(value, bool):
            raise SignalError(f"Assessment signal value must be a boolean: {name}")
        checked[name] = value
    return checked


def signals_in(path: Path) -> dict[str, bool]:
    """The signals of a file: one mapping in strict YAML. Raises `SignalError`, with the place in its hint."""
    try:
        return checked_signals(read_document(path).value)
    except BundleError as exc:
        first = exc.problems[0]
        place = f"{first.file}:{first.line}:{first.column}"
        known = _IN_FILE.get(first.code)
        if known is None:
            raise SignalError(f"the signals cannot be read: {first.message}", hint=f"see {place}") from exc
        raise SignalError(known, hint=f"see {place}: {first.message}") from exc


def parsed_signal(raw: Any) -> tuple[str, bool]:
    """One `key=value` as name and truth. Raises `SignalError`."""
    if not isinstance(raw, str):
        raise SignalError("Signal must be a string")
    key, separator, value = raw.partition("=")
    if not separator:
        raise SignalError(f"Signal must use key=value format: {raw!r}")
    if not key.strip():
        raise SignalError(f"Signal key must not be empty: {raw!r}")
    word = value.strip().lower()
    if word not in _TRUE | _FALSE:
        raise SignalError(f"Unsupported boolean value in signal: {raw!r}", hint="say true or false")
    return key.strip(), word in _TRUE


def all_signals(file: Path | None, given: Iterable[str]) -> dict[str, bool]:
    """The signals of `file`, then those given one by one, which win over the file but not over each other."""
    signals = {} if file is None else signals_in(file)
    said: dict[str, bool] = {}
    for raw in given:
        name, value = parsed_signal(raw)
        if name in said:
            raise SignalError("Assessment signal keys must be unique", hint="give each signal once")
        said[name] = value
    return {**signals, **said}
