"""The rule for what only its name gives away: names, separators, where a value ends, and what is code."""

from __future__ import annotations

import json

import pytest

from archivist.redact import Redactor
from archivist.redaction_values import QUOTED_CHARS_MAX, VALUE_CHARS_MIN
from tests.archivist.redaction_corpus import NAMES

REDACTOR = Redactor([])
PLAIN = "hunter2" * 2
MARKER = "[REDACTED:secret]"


def redacted(text: str) -> str:
    """Give the text without its secrets."""
    return REDACTOR.redact(text)[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "form",
    ["{}={}", "{}: {} next", "--{}={} -v", '"{}": "{}"', r"\"{}\": \"{}\"", "['{}'] = '{}'", "`{}`: `{}`"],
)
def test_every_name_is_known_in_every_form(name: str, form: str) -> None:
    assert REDACTOR.redact(form.format(name, PLAIN)) == (form.format(name, MARKER), 1)


@pytest.mark.parametrize(
    "text",
    [
        "password: str = 'VALUE'",
        'private password: string = "VALUE";',
        "**Password:** VALUE",
        "const PASSWORD = `VALUE`",
        'token := "VALUE"',
        ":secret => 'VALUE'",
        'if password == "VALUE":',
        'password = b"VALUE"',
        'passwords = {"password": ("VALUE")}',
        "password1=VALUE",
        'secret: """VALUE"""',
        "the password: VALUE, and so on",
        "https://host.example/x?token=VALUE&page=2",
        "login --password VALUE --verbose",
        "{'password': 'VALUE', 'user': 'me'}",
        "stripe_key=VALUE",
        "export stripe_pass=VALUE",
    ],
)
def test_a_value_goes_and_what_is_around_it_stays(text: str) -> None:
    assert REDACTOR.redact(text.replace("VALUE", PLAIN)) == (text.replace("VALUE", MARKER), 1)


@pytest.mark.parametrize("name", ["token", "password", "api_key"])
def test_a_value_has_at_least_so_many_characters(name: str) -> None:
    enough = "12345678"
    assert len(enough) == VALUE_CHARS_MIN
    assert redacted(f"{name}: {enough}") == f"{name}: {MARKER}"
    assert redacted(f'"{name}": "{enough}"') == f'"{name}": "{MARKER}"'
    assert redacted(f"{name}: {enough[1:]}") == f"{name}: {enough[1:]}"
    assert redacted(f'"{name}": "{enough[1:]}"') == f'"{name}": "{enough[1:]}"'


@pytest.mark.parametrize(
    "secret", ["correct horse battery staple", 'with "quotes" and \\ more', "it's, (even) [this]"]
)
@pytest.mark.parametrize("depth", range(4))
def test_a_string_ends_at_its_own_quote_in_json_within_json(secret: str, depth: int) -> None:
    text = expected = ""
    for password in (secret, MARKER):
        expected, text = text, json.dumps({"password": password, "user": "me", "tags": ["x"]})
        for _ in range(depth):
            text = json.dumps([text, "after"])
    assert redacted(expected) == text


def test_a_string_that_never_ends_loses_its_first_word_at_least() -> None:
    assert redacted(f'password: "{PLAIN}') == f'password: "{MARKER}'
    assert redacted(f'password: "{PLAIN}\nnext "line"') == f'password: "{MARKER}\nnext "line"'
    long = "y" * (QUOTED_CHARS_MAX + 1)
    assert redacted(f'password: "{long}" y') == f'password: "{MARKER}" y'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1\nDB_PASSWORD=p@ss,w(0)rd;&1\nB=2", f"A=1\nDB_PASSWORD={MARKER}\nB=2"),
        ("DB_PASSWORD=a{b}c|d;e&f # comment", f"DB_PASSWORD={MARKER} # comment"),
        (r'"A=1\nDB_PASSWORD=p@ss,w(0)rd;&1\nB=2"', rf'"A=1\nDB_PASSWORD={MARKER}\nB=2"'),
        ("- PASSWORD=f(x)&g(y)z;1", f"- PASSWORD={MARKER}"),
        ("API_KEY=${API_KEY:-hunter2hunter2}", f"API_KEY={MARKER}"),
        ("API_KEY=${API_KEY}", "API_KEY=${API_KEY}"),
    ],
)
def test_no_character_ends_a_value_in_a_line_of_settings(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "foo_pass = something_else_entirely",
        "first_pass=run_once(nodes)",
        "the key: somewhere else",
        "mapped = {key: elements[key]}",
        "sort_key=by_creation_date, reverse=True",
        "num_token: 12345678, total_token = 1.2345678e9",
        "password\n: 12345678",
        "password:\n12345678",
        "password(12345678)",
        "token::12345678",
        "tokens = 12345678",
    ],
)
def test_other_names_and_other_separators_are_none(text: str) -> None:
    assert REDACTOR.redact(text) == (text, 0)


def test_a_name_within_a_value_is_part_of_it() -> None:
    assert REDACTOR.redact("password=token=secret=12345678") == (f"password={MARKER}", 1)


def test_a_marker_ends_a_value() -> None:
    text = "password: [REDACTED:private-key] and token=[HOME]/x and secret=ab[REDACTED:token]cd"
    assert REDACTOR.redact(text) == (text, 0)
    assert (
        redacted('"password": "[REDACTED:token] hunter2hunter2"')
        == '"password": "[REDACTED:token] hunter2hunter2"'
    )
