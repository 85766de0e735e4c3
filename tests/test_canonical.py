from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import canonical
from gate.errors import InputError

SAFE = canonical.MAX_SAFE_INTEGER


def code_of(call: Any, *arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return caught.value.code


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


_CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=_CONTROLS))
numbers = st.integers(-SAFE, SAFE) | st.floats(-SAFE, SAFE)  # every greater double is an integer past 2^53-1
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: `True` is not 1, and 1.0 is."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


# RFC 8785 section 3.2.2: the example of the specification.
def test_canonical_bytes_of_the_rfc_example_are_those_of_the_rfc() -> None:
    text = (
        r'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        r'"string":"\u20ac$\u000F\u000aA'
        r"'"
        r'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}'
    )
    value = json.loads(text)
    value["numbers"].pop(1)  # 1E30 is an integer past 2^53-1, which is refused here
    assert (
        canonical.canonical_bytes(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


# RFC 8785 section 3.2.3: U+FB33 comes after the surrogate pair of U+1F600, because code units are compared.
def test_keys_are_ordered_by_utf16_code_units() -> None:
    keys = ["\u20ac", "1", "\ufb33", "\U0001f600", "\u00f6", "A"]
    assert json.loads(
        canonical.canonical_bytes(dict.fromkeys(keys, 0)), object_pairs_hook=lambda pairs: [key for key, _ in pairs]
    ) == ["1", "A", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


# RFC 8785 appendix B, as far as the numbers are not integers past 2^53-1.
@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("3ff0000000000000", "1"),
        ("433fffffffffffff", "9007199254740991"),
        ("c33fffffffffffff", "-9007199254740991"),
    ],
)
def test_number_is_written_as_the_rfc_writes_it(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical.canonical_bytes(number) == text.encode()


@pytest.mark.parametrize("texts", [("1", "1.0", "1e0", "10e-1"), ("0", "-0", "-0.0", "0e5"), ("100", "1e2")])
def test_spellings_of_one_number_have_one_digest(texts: tuple[str, ...]) -> None:
    assert len({canonical.digest(canonical.parse(text)) for text in texts}) == 1


def test_sum_of_tenths_is_not_three_tenths() -> None:
    assert canonical.canonical_bytes(0.1 + 0.2) == b"0.30000000000000004"
    assert canonical.digest(0.1 + 0.2) != canonical.digest(0.3)


def test_greatest_safe_integer_and_the_one_below_have_two_digests() -> None:
    assert canonical.digest(SAFE) != canonical.digest(SAFE - 1)


@pytest.mark.parametrize(
    "text",
    [
        *("9007199254740992", "9007199254740993", "-9007199254740992", "28857836529306024611912", "9007199254740992.0"),
        *("1e16", "-1e300", "9" * 400_000),
    ],
)
def test_integer_past_two_to_the_53_is_refused_in_text(text: str) -> None:
    assert code_of(canonical.parse, text) == "json_integer_unsafe"


@pytest.mark.parametrize("value", [SAFE + 1, -SAFE - 1, 28857836529306024611912, 2.0**53, -(2.0**53), 1e300])
def test_integer_past_two_to_the_53_is_refused_as_a_python_number(value: float) -> None:
    assert code_of(canonical.canonical_bytes, value) == "json_integer_unsafe"
    assert code_of(canonical.digest, {"amount": [value]}) == "json_integer_unsafe"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", '{"amount": NaN}', "[1E400]"])
def test_number_that_is_not_finite_is_refused_in_text(text: str) -> None:
    assert code_of(canonical.parse, text) == "json_number_not_finite"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_number_that_is_not_finite_is_refused_as_a_python_float(value: float) -> None:
    assert code_of(canonical.digest, {"amount": value}) == "json_number_not_finite"


@pytest.mark.parametrize(
    "text",
    [
        '{"effect": "deny", "effect": "allow"}',
        '{"a": {"b": [{"c": 1, "d": 2, "c": 1}]}}',
        '[[[{"": 1, "": 1}]]]',
        '{"\\u0061": 1, "a": 2}',
        '{"a": 1, "b": {}, "a": null}',
    ],
)
def test_duplicate_key_is_refused_at_any_depth(text: str) -> None:
    assert code_of(canonical.parse, text) == "json_duplicate_key"


@pytest.mark.parametrize("text", ['"\\ud800"', '["a\\udfff"]', '{"\\ud83d": 1}', '{"a": {"b": "\\ude00\\ud83d"}}'])
def test_lone_surrogate_is_refused_in_values_and_in_keys(text: str) -> None:
    assert code_of(canonical.parse, text) == "json_lone_surrogate"
    assert code_of(canonical.canonical_bytes, json.loads(text)) == "json_lone_surrogate"


def test_surrogate_pair_is_one_character() -> None:
    assert canonical.parse('"\\ud83d\\ude00"') == "😀"


def test_lone_surrogate_in_the_text_itself_is_not_utf8() -> None:
    assert code_of(canonical.parse, '"\ud800"') == "json_not_utf8"
    assert code_of(canonical.parse, b'"\xff"') == "json_not_utf8"
    assert code_of(canonical.parse, b'"\xed\xa0\x80"') == "json_not_utf8"


@pytest.mark.parametrize("character", ["\x00", "\t", "\n", "\x1f", "\x7f", "\x80", "\x9f"])
def test_control_character_in_a_name_is_refused(character: str) -> None:
    name = f"de{character}ny"
    assert code_of(canonical.canonical_bytes, {"a": [{name: 1}]}) == "json_key_control_character"
    assert code_of(canonical.parse, json.dumps({name: 1})) == "json_key_control_character"


def test_control_character_in_a_value_is_kept() -> None:
    assert canonical.canonical_bytes("a\x00\nb\x7f") == b'"a\\u0000\\nb\x7f"'


def test_depth_64_is_taken_and_depth_65_refused() -> None:
    assert canonical.parse(canonical.canonical_bytes(nested(64))) == nested(64)
    assert code_of(canonical.canonical_bytes, nested(65)) == "json_too_deep"
    assert code_of(canonical.parse, "[" * 65 + "1" + "]" * 65) == "json_too_deep"


@pytest.mark.parametrize(
    "text", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "[" * 100_000]
)
def test_text_a_hundred_thousand_deep_is_refused_and_breaks_no_stack(text: str) -> None:
    assert code_of(canonical.parse, text) in {"json_too_deep", "json_malformed"}


def test_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    assert code_of(canonical.digest, value) == "json_too_deep"


def test_size_limit_holds_at_the_byte_in_both_directions() -> None:
    fits = "a" * (canonical.MAX_DOCUMENT_BYTES - 2)
    assert len(canonical.canonical_bytes(fits)) == canonical.MAX_DOCUMENT_BYTES
    assert canonical.parse(f'"{fits}"') == fits
    assert code_of(canonical.canonical_bytes, fits + "a") == "json_too_large"
    assert code_of(canonical.parse, f'"{fits}a"') == "json_too_large"


def test_size_limit_counts_bytes_and_not_characters() -> None:
    with pytest.raises(InputError) as caught:
        canonical.parse('"éé"', max_bytes=5)
    assert caught.value.code == "json_too_large"
    assert canonical.parse('"éé"', max_bytes=6) == "éé"


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Table(dict[str, Any]):
    pass


class Row(list[Any]):
    pass


@pytest.mark.parametrize(
    "value",
    [(1, 2), {1}, frozenset({1}), b"x", bytearray(b"x"), 1j, Text("a"), Number(1), Table(), Row(), object(), range(2)],
)
def test_python_value_that_is_not_json_is_refused(value: object) -> None:
    assert code_of(canonical.digest, value) == "json_type_unsupported"
    assert code_of(canonical.digest, {"a": [value]}) == "json_type_unsupported"


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",), Text("a")])
def test_key_that_is_not_a_plain_string_is_refused(key: object) -> None:
    assert code_of(canonical.digest, {key: 1}) == "json_key_not_string"


def test_booleans_numbers_strings_and_null_are_not_mixed_up() -> None:
    values = [True, 1, "1", "true", None, "null", False, 0, "", [], {}, [None], {"": None}]
    assert len({canonical.digest(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a": 1,}', "[1,]", "01", "+1", "'a'", "nul", "1 2", "\ufeff1", "// x"]
)
def test_text_that_is_not_json_is_malformed(text: str) -> None:
    assert code_of(canonical.parse, text) == "json_malformed"


def test_error_text_quotes_nothing_of_the_document() -> None:
    secret = "hunter2"
    for text in (f'{{"{secret}": 1, "{secret}": 2}}', f'"{secret}', f'"{secret}\\ud800"', f'{{"{secret}\\n": 1}}'):
        with pytest.raises(InputError) as caught:
            canonical.parse(text)
        assert secret not in f"{caught.value} {caught.value.hint}"


def test_digest_is_sha256_over_the_canonical_bytes() -> None:
    # echo -n '{"a":1}' | sha256sum
    assert canonical.digest({"a": 1.0}) == "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sha256:" + "0" * 64, True),
        ("sha256:" + "0" * 63, False),
        ("sha256:" + "0" * 65, False),
        ("sha256:" + "0" * 64 + "\n", False),
        ("sha256:" + "A" * 64, False),
        ("SHA256:" + "0" * 64, False),
        ("0" * 64, False),
        (b"sha256:" + b"0" * 64, False),
        (None, False),
    ],
)
def test_is_digest_takes_only_the_one_form(value: object, expected: bool) -> None:
    assert canonical.is_digest(value) is expected


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("\u00e9", "e\u0301"),  # NFC and NFD
        ("\uff52m", "rm"),
        ("r\u200bm", "rm"),
        ("a", "A"),
        ("a ", "a"),
        ("a\n", "a\r\n"),
        ("\u0440m", "pm"),
    ],
)
def test_two_texts_never_share_a_digest(left: str, right: str) -> None:
    assert canonical.digest({"path": left}) != canonical.digest({"path": right})


def test_two_names_that_look_alike_never_share_a_digest() -> None:
    assert canonical.digest({"\u00e9": 1}) != canonical.digest({"e\u0301": 1})


@given(values)
def test_canonical_bytes_parse_back_to_the_value(value: Any) -> None:
    data = canonical.canonical_bytes(value)
    assert same(canonical.parse(data), value)
    assert canonical.canonical_bytes(canonical.parse(data)) == data


@given(values, values)
def test_values_are_equal_exactly_when_their_bytes_are(left: Any, right: Any) -> None:
    assert same(left, right) == (canonical.canonical_bytes(left) == canonical.canonical_bytes(right))


@given(st.dictionaries(names, values, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_permuted_keys_have_the_same_digest(value: dict[str, Any], random: Any) -> None:
    keys = list(value)
    random.shuffle(keys)
    assert canonical.digest({key: value[key] for key in keys}) == canonical.digest(value)
