"""The predicate language as a tree: `risk_tier == "high" and side_effect == "external_write"`.

Pure. Reads text and knows nothing of names or types. What it cannot read is an error with its offset, never a guess.

    predicate  := and ("or" and)*            comparison := operand (OP operand)? | "exists" NAME
    and        := not ("and" not)*           OP         := == != < <= > >= in matches
    not        := "not" not | comparison     operand    := NAME | STRING | NUMBER | true | false | [..] | ( predicate )
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gate.canonical import MAX_SAFE_INTEGER
from gate.errors import GateError

MAX_TOKENS = 200
MAX_DEPTH = 32

Scalar = str | int | float | bool

_TOKEN = re.compile(
    r"""(?P<space>[ ]+)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?![A-Za-z0-9_.])
      | (?P<name>[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*)
      | (?P<op>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)""",
    re.VERBOSE,
)
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "matches"})
_WORDS = frozenset({"and", "or", "not", "in", "matches", "exists", "true", "false"})


class PredicateError(GateError):
    """A predicate that cannot be compiled; `offset` is the 0-based character it is about."""

    code = "predicate_invalid"

    def __init__(self, message: str, offset: int, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Name:
    """A dotted name."""

    path: tuple[str, ...]
    at: int

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a string, number or boolean, or a tuple of such."""

    value: Scalar | tuple[Scalar, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Compare:
    """`left OP right`."""

    op: str
    left: Name | Literal
    right: Name | Literal
    at: int


@dataclass(frozen=True, slots=True)
class Truth:
    """A name used as a predicate by itself; it must be boolean."""

    name: Name


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists NAME`: stated and not null. Two-valued."""

    name: Name


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; swaps true and false and leaves unknown."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Junction:
    """`and` or `or` over two or more, in Kleene's logic."""

    op: str
    operands: tuple[Node, ...]


Node = Compare | Truth | Exists | Not | Junction


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse_predicate(text: str) -> Node:
    """The tree of `text`. Raises `PredicateError`."""
    tokens = list(_tokens(text))
    if not tokens:
        raise PredicateError("a predicate is empty", 0)
    if len(tokens) > MAX_TOKENS:
        raise PredicateError(
            f"a predicate is over {MAX_TOKENS} tokens", tokens[MAX_TOKENS].at, code="predicate_too_long"
        )
    parser = _Parser(tokens, len(text))
    node = parser.disjunction(0)
    if isinstance(node, (Name, Literal)):
        node = parser.as_node(node)
    parser.end()
    return node


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PredicateError(f"`{text[at]!a}` cannot stand here"[:60], at)
        kind = str(match.lastgroup)
        if kind != "space":
            word = match.group()
            yield _Token("word" if kind == "name" and word in _WORDS else kind, word, at)
        at = match.end()


class _Parser:
    """Recursive descent over the tokens, one method a level of the grammar."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self._tokens = tokens
        self._next = 0
        self._length = length

    def disjunction(self, depth: int) -> Node | Name | Literal:
        return self._junction("or", depth)

    def _junction(self, op: str, depth: int) -> Node | Name | Literal:
        def part() -> Node | Name | Literal:
            return self._junction("and", depth) if op == "or" else self._negation(depth)

        first = part()
        if not self._peek("word", op):
            return first
        operands = [self.as_node(first)]
        while self._take("word", op):
            operands.append(self.as_node(part()))
        return Junction(op, tuple(operands))

    def _negation(self, depth: int) -> Node | Name | Literal:
        if self._take("word", "not"):
            self._deeper(depth)
            return Not(self.as_node(self._negation(depth + 1)))
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Node | Name | Literal:
        if self._take("word", "exists"):
            return Exists(self._name())
        left = self._operand(depth)
        token = self._current()
        if token is None or token.text not in _COMPARISONS or token.kind not in {"op", "word"}:
            return left
        self._next += 1
        right = self._operand(depth)
        if not isinstance(left, (Name, Literal)) or not isinstance(right, (Name, Literal)):
            raise PredicateError(f"`{token.text}` compares names and constants, not predicates", token.at)
        return Compare(token.text, left, right, token.at)

    def _operand(self, depth: int) -> Node | Name | Literal:
        token = self._current()
        if self._take("op", "("):
            self._deeper(depth)
            inner = self.as_node(self.disjunction(depth + 1))
            self._expect(")")
            return inner
        if self._take("op", "["):
            return self._list(token)
        if token is not None and token.kind == "name":
            return self._name()
        return self._scalar()

    def _list(self, opening: _Token | None) -> Literal:
        items: list[Scalar] = []
        while not self._take("op", "]"):
            if items:
                self._expect(",")
            value = self._scalar().value
            if not isinstance(value, tuple):
                items.append(value)
        return Literal(tuple(items), opening.at if opening else 0)

    def _name(self) -> Name:
        token = self._current()
        if token is None or token.kind != "name":
            raise PredicateError("a name must stand here", self._at())
        self._next += 1
        return Name(tuple(token.text.split(".")), token.at)

    def _scalar(self) -> Literal:
        token = self._current()
        if token is None or token.kind not in {"string", "number", "word"}:
            raise PredicateError("a name or a constant must stand here", self._at())
        self._next += 1
        if token.kind == "word":
            if token.text not in {"true", "false"}:
                raise PredicateError(f"`{token.text}` cannot stand here", token.at)
            return Literal(token.text == "true", token.at)
        value = json.loads(token.text)
        if isinstance(value, str):
            _refuse_odd_text(value, token.at)
        elif abs(value) > MAX_SAFE_INTEGER:
            raise PredicateError("a number is outside ±(2^53-1)", token.at)
        return Literal(value, token.at)

    def as_node(self, part: Node | Name | Literal) -> Node:
        if isinstance(part, Name):
            return Truth(part)
        if isinstance(part, Literal):
            raise PredicateError(
                "a constant is not a predicate", part.at, code="predicate_constant", hint="compare a name with it"
            )
        return part

    def end(self) -> None:
        token = self._current()
        if token is not None:
            raise PredicateError(f"`{token.text}` cannot stand here"[:60], token.at)

    def _expect(self, text: str) -> None:
        if not self._take("op", text):
            raise PredicateError(f"`{text}` is missing", self._at())

    def _deeper(self, depth: int) -> None:
        if depth + 1 > MAX_DEPTH:
            raise PredicateError(f"a predicate is nested over {MAX_DEPTH} deep", self._at(), code="predicate_too_deep")

    def _current(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _peek(self, kind: str, text: str) -> bool:
        token = self._current()
        return token is not None and (token.kind, token.text) == (kind, text)

    def _take(self, kind: str, text: str) -> bool:
        if not self._peek(kind, text):
            return False
        self._next += 1
        return True

    def _at(self) -> int:
        token = self._current()
        return self._length if token is None else token.at


def _refuse_odd_text(value: str, at: int) -> None:
    if any("\ud800" <= c <= "\udfff" or c < " " or c == "\x7f" for c in value):
        raise PredicateError("a string has a control character or a lone surrogate", at)
