"""Strict YAML: one meaning, or every reason why not, each with its line and column.

Works on PyYAML's events, never on its constructors, so nothing is converted behind the author's back and no
depth of nesting costs the interpreter its stack. Pure; it must not read files and knows no schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from gate.canonical import MAX_DEPTH
from gate.documents import seed_messages
from gate.documents.document import Document, Place
from gate.documents.wording import quoted
from gate.documents.yaml_scalars import QUOTE_IT, Refusal, read_plain
from gate.documents.yaml_text import (
    CONTROL_IN_VALUE,
    Lines,
    Spans,
    decode,
    tabs_outside_quotes,
    without_forbidden,
)
from gate.errors import BundleError, Problem

__all__ = ["Document", "load"]

_LINE_CONTROLS = frozenset("\t\n\r")
# libyaml's scanner takes a tenth of the time of PyYAML's own. It is believed only where nothing is objected to, so that
# every message is PyYAML's, and not about what it lets pass where PyYAML does not: tabs, a question mark inside of a
# word, and a comment that touches the sign of a block.
_LET_PASS = re.compile(r"[\t?]|[|>][-+0-9]*#")


def load(text: str | bytes, *, file: str) -> Document:
    """The one governed document in `text`; `file` is the path its problems are filed under.

    Raises `BundleError` with every problem found. What follows a syntax error cannot be judged and is not
    reported.
    """
    clean, problems = without_forbidden(decode(text, file), file)
    if not problems and (document := _read_quickly(clean, file)) is not None:
        return document
    reader = _Reader(file, clean)
    if "\t" in clean:
        # PyYAML stops at the first stray tab: a blank of the same width lets it find the rest.
        blank = _Reader(file, clean.replace("\t", " "))
        blank.read()
        stray = tabs_outside_quotes(clean, blank.spans, blank.stopped_at)
        lines = Lines(clean)
        characters = list(clean)
        for offset in stray:
            characters[offset] = " "
            if not clean.endswith("\t", 0, offset):  # a row of tabs is one problem
                at = lines.at(offset)
                problems.append(Problem(file, *at, "yaml_tab", "a tab stands outside quotes", "use spaces"))
        reader = _Reader(file, "".join(characters))
    reader.read()
    problems += reader.problems
    if problems or not isinstance(reader.value, dict) or reader.root is None:
        raise BundleError(problems)
    return Document(file=file, value=reader.value, root=reader.root)


def _read_quickly(text: str, file: str) -> Document | None:
    """The document in `text` when libyaml's scanner is there and nothing is wrong with it; else None."""
    if not yaml.__with_libyaml__ or _LET_PASS.search(text):
        return None
    reader = _QuickReader(file, text)
    try:
        reader.read()
    except (yaml.YAMLError, ValueError, OverflowError):
        return None
    if reader.problems or not isinstance(reader.value, dict) or reader.root is None:
        return None
    return Document(file=file, value=reader.value, root=reader.root)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    value: dict[str, Any] | list[Any]
    place: Place
    is_key: bool
    """The collection stands where a key belongs; what is in it is read for its problems only."""
    name: str | int = ""
    """Key or index under which the collection stands; empty for the root and where it cannot be used."""
    lines: dict[str, int] = field(default_factory=dict)
    """Line of each key seen so far."""
    in_value: bool = False
    """A mapping that has read a key and waits for its value."""
    key: str | None = None
    """The key that waits; None when it cannot be used."""
    key_at: tuple[int, int] = (1, 1)


class _Reader:
    """Reads the events of one text into plain values, going on after everything but a syntax error."""

    def __init__(self, file: str, text: str) -> None:
        self.problems: list[Problem] = []
        self.spans = Spans()
        self.value: Any = None
        self.root: Place | None = None
        self.stopped_at = len(text)
        """Offset up to which the text was understood."""
        self._file = file
        self._text = text
        self._stack: list[_Open] = []
        self._documents = 0

    def read(self) -> None:
        """Reads everything; afterwards `problems`, or else `value` and `root`, say what is there."""
        for event in self._events():
            if not self._take(event):
                self.stopped_at = _offset(event)
                return
        if not self.problems and self._documents == 0:
            self._report_empty()

    def _events(self) -> Iterator[yaml.Event]:
        loader = yaml.SafeLoader(self._text)
        try:
            while loader.check_event():
                event: yaml.Event = loader.get_event()  # type: ignore[no-untyped-call]
                yield event
        except yaml.MarkedYAMLError as exc:
            mark = exc.problem_mark or exc.context_mark or loader.get_mark()
            self._syntax(mark, exc.problem or exc.context or "not understood")
        except (ValueError, OverflowError):
            # An escape or a directive with a number that Python cannot hold.
            self._syntax(loader.get_mark(), "found a number out of range")
        finally:
            loader.dispose()

    def _syntax(self, mark: Any, what: str) -> None:
        self.stopped_at = mark.index
        code, hint = "yaml_syntax", ""
        if "mapping values are not allowed" in what:
            hint = "quote a value that has `: ` in it, or check the indentation"
        elif "cannot start any token" in what:
            hint = QUOTE_IT
        elif "undefined tag handle" in what:
            code = "yaml_tag"
        self._report(_at(mark), code, f"not YAML: {what}", hint)

    def _report(self, at: tuple[int, int], code: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self._file, *at, code, message, hint))

    def _report_known(self, at: tuple[int, int], code: str, message: str, hint: str, condition: str, key: str) -> None:
        """As `_report`, in the words operators know for a key of this place when there are such words."""
        path = (*(one.name for one in self._stack[1:]), key)
        known = seed_messages.seed_text(self._file, path, condition)
        if known is None:
            self._report(at, code, message, hint)
        else:
            self._report(at, code, known, f"{message}; {hint}")

    def _take(self, event: yaml.Event) -> bool:
        """Takes one event; false when there is no sense in going on."""
        match event:
            case yaml.DocumentStartEvent():
                return self._document(event)
            case yaml.AliasEvent():
                message = f"alias {quoted(f'*{event.anchor}')} is not allowed"
                self._report(_at(event.start_mark), "yaml_alias", message, "write the value out")
                self._scalar_or_key(None, event, None)
            case yaml.ScalarEvent():
                self._decorated(event)
                self.spans.add(_offset(event), _end_offset(event), quoted=event.style in ("'", '"'))
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._decorated(event)
                return self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
        return True

    def _document(self, event: yaml.DocumentStartEvent) -> bool:
        self._documents += 1
        at = _at(event.start_mark)
        if self._documents > 1:
            message = "a second document starts here"
            self._report(at, "yaml_several_documents", message, "one file, one document")
            return False
        if self._text.startswith("%", _offset(event)):
            self._report(at, "yaml_directive", "a YAML directive is not allowed", "remove it")
        return True

    def _decorated(self, event: yaml.NodeEvent) -> None:
        at = _at(event.start_mark)
        if event.anchor is not None:
            message = f"anchor {quoted(f'&{event.anchor}')} is not allowed"
            self._report(at, "yaml_anchor", message, "write the value out where it is used")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._report(at, "yaml_tag", f"tag {quoted(tag)} is not allowed", "remove it")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        plain = not event.style  # libyaml's scanner says it with an empty string
        if not self._stack:
            if plain and event.value == "":
                self._report_empty()
            else:
                self._not_a_mapping(event)
            return
        value = read_plain(event.value) if plain and event.tag is None else self._text_value(event)
        self._scalar_or_key(event.value, event, value)

    def _text_value(self, event: yaml.ScalarEvent) -> str:
        value: str = event.value
        at = _at(event.start_mark)
        control = CONTROL_IN_VALUE.search(value)
        if control is not None:
            message = f"an escape makes the control character U+{ord(control[0]):04X}"
            self._report(at, "yaml_control_character", message, "remove it")
        if any("\ud800" <= character <= "\udfff" for character in value):
            message = "an escape makes half a surrogate pair"
            self._report(at, "yaml_surrogate", message, "write the character itself")
        return value

    def _scalar_or_key(self, source: str | None, event: yaml.NodeEvent, value: Any) -> None:
        top = self._stack[-1] if self._stack else None
        if top is not None and isinstance(top.value, dict) and not top.in_value:
            top.in_value, top.key_at = True, _at(event.start_mark)
            top.key = None if source is None else self._key(source, event, value, top)
            return
        if isinstance(value, Refusal):
            self._report(_at(event.start_mark), value.code, value.message, value.hint)
            value = None
        self._attach(value, event)

    def _key(self, source: str, event: yaml.NodeEvent, value: Any, top: _Open) -> str | None:
        at = _at(event.start_mark)
        name = quoted(source)
        if source == "<<" and isinstance(value, Refusal):
            self._report(at, "yaml_merge_key", "merge key `<<` is not allowed", "write the keys out")
            return None
        if isinstance(value, Refusal) and value.code == "yaml_quote_it":
            self._report(at, value.code, f"key {value.message}", value.hint)
        elif not isinstance(value, str):
            said = f"key {name} is not a string"
            self._report_known(at, "yaml_key_not_string", said, QUOTE_IT, seed_messages.KEY_NOT_STRING, source)
        if not source.isascii():
            message = f"key {name} has characters outside ASCII"
            self._report(at, "yaml_key_not_ascii", message, "use ASCII letters")
        elif not _LINE_CONTROLS.isdisjoint(source):
            self._report(at, "yaml_control_character", f"key {name} has a control character", "remove it")
        if source in top.lines:
            message = f"key {name} is already on line {top.lines[source]}"
            hint = "keep one of them"
            self._report_known(at, "yaml_duplicate_key", message, hint, seed_messages.KEY_DUPLICATE, source)
            return None
        top.lines[source] = at[0]
        return source

    def _open(self, event: yaml.CollectionStartEvent) -> bool:
        at = _at(event.start_mark)
        if len(self._stack) >= MAX_DEPTH:
            self._report(at, "yaml_too_deep", f"the document is nested over {MAX_DEPTH} deep")
            return False
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        top = self._stack[-1] if self._stack else None
        if top is not None and isinstance(top.value, dict) and not top.in_value:
            self._report(at, "yaml_key_not_string", "a collection cannot be a key", "use a string as the key")
            place = Place(line=at[0], column=at[1], key_line=at[0], key_column=at[1])
            self._stack.append(_Open(value, place, is_key=True))
            return True
        if top is None and isinstance(value, list):
            self._not_a_mapping(event)
        name: str | int = "" if top is None else len(top.value) if isinstance(top.value, list) else top.key or ""
        self._stack.append(_Open(value, self._attach(value, event), is_key=False, name=name))
        return True

    def _close(self) -> None:
        closed = self._stack.pop()
        if closed.is_key:
            top = self._stack[-1]
            top.in_value, top.key, top.key_at = True, None, (closed.place.line, closed.place.column)

    def _attach(self, value: Any, event: yaml.NodeEvent) -> Place:
        """Puts `value` where it belongs and answers its place."""
        line, column = key_line, key_column = _at(event.start_mark)
        top = self._stack[-1] if self._stack else None
        name: str | None = None
        if top is None:
            self.value = value
        elif isinstance(top.value, list):
            name = str(len(top.value))
            top.value.append(value)
        else:
            name, (key_line, key_column) = top.key, top.key_at
            if name is not None:
                top.value[name] = value
            top.in_value, top.key = False, None
        place = Place(line=line, column=column, key_line=key_line, key_column=key_column)
        if top is None:
            self.root = place
        elif name is not None:
            top.place.children[name] = place
        return place

    def _report_empty(self) -> None:
        message = "the document is empty"
        known = seed_messages.seed_text(self._file, (), seed_messages.ROOT)
        self._report((1, 1), "yaml_empty", known or message, "" if known is None else message)

    def _not_a_mapping(self, event: yaml.NodeEvent) -> None:
        at = _at(event.start_mark)
        what = seed_messages.LIST_ROOT if isinstance(event, yaml.SequenceStartEvent) else seed_messages.ROOT
        known = seed_messages.seed_text(self._file, (), what)
        known = known or seed_messages.seed_text(self._file, (), seed_messages.ROOT)
        message = "the document is not a mapping of keys to values"
        self._report(at, "yaml_root_not_mapping", known or message, "" if known is None else message)


class _QuickReader(_Reader):
    """The same on libyaml's scanner; raises what that raises."""

    def _events(self) -> Iterator[yaml.Event]:
        loader = yaml.CSafeLoader(self._text)
        try:
            while loader.check_event():
                event = loader.get_event()
                if event is not None:
                    yield event
        finally:
            loader.dispose()


def _at(mark: Any) -> tuple[int, int]:
    # `Any`: the stubs call every mark optional, because only the emitter makes events without one.
    return mark.line + 1, mark.column + 1


def _offset(event: Any) -> int:
    start: int = event.start_mark.index
    return start


def _end_offset(event: Any) -> int:
    end: int = event.end_mark.index
    return end
