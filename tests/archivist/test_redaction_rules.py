"""The rules for what its own form gives away: where a form begins, ends, and what only resembles it."""

from __future__ import annotations

import json

import pytest

from archivist.redact import Redactor
from archivist.redaction_rules import KEY_BLOCK_CHARS_MAX
from tests.archivist.redaction_corpus import ALNUM, TOKENS, dice, key_block, some

REDACTOR = Redactor([])
RNG = dice(11)
BLOCK = key_block(RNG)
CUT = BLOCK[: len(BLOCK) // 2]
MARKER = "[REDACTED:private-key]"
WEB_TOKEN = TOKENS["web token"](RNG)
GITHUB = TOKENS["github"](RNG)


def redacted(text: str) -> str:
    """Give the text without its secrets."""
    return REDACTOR.redact(text)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a\n{BLOCK}\nb", f"a\n{MARKER}\nb"),
        (json.dumps({"key": BLOCK + "\n", "next": 1}), f'{{"key": "{MARKER}\\n", "next": 1}}'),
        (json.dumps({"in": json.dumps({"key": BLOCK})}), json.dumps({"in": json.dumps({"key": MARKER})})),
        (BLOCK.replace("\n", "\r\n"), MARKER),
        ("> " + BLOCK.replace("\n", "\n> "), f"> {MARKER}"),
        ('k = ("' + BLOCK.replace("\n", '\\n"\n     "') + '")', f'k = ("{MARKER}")'),
        (f"{BLOCK}\n{BLOCK}", f"{MARKER}\n{MARKER}"),
        (key_block(RNG, "PGP ").replace("KEY-", "KEY BLOCK-"), MARKER),
        (
            BLOCK.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n", 1),
            MARKER,
        ),
    ],
    ids=["raw", "json", "json in json", "crlf", "quoted", "code", "two", "pgp", "encrypted"],
)
def test_key_blocks_go_in_every_dress(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize("end", ["", "\n", "\n... [truncated]", '"}', "\n\nwalrus after"])
def test_a_block_that_was_cut_off_goes_to_the_end_of_its_letters(end: str) -> None:
    assert redacted(f"before {CUT}{end}") == f"before {MARKER}{end}"
    assert redacted(f"before {CUT[:45]}") == f"before {MARKER}"


def test_a_block_s_end_far_away_does_not_take_what_lies_between() -> None:
    far = "A sentence, and another. " * (KEY_BLOCK_CHARS_MAX // 20)
    text = f"{CUT}\n\n{far}\n{BLOCK[-len('-----END RSA PRIVATE KEY-----') :]}"
    assert far in redacted(text)
    assert CUT[40:] not in redacted(text)


def test_a_huge_key_goes_whole() -> None:
    assert redacted(key_block(RNG, lines=600)) == MARKER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"x-{WEB_TOKEN}.", "x-[REDACTED:token]."),
        (f"token_{GITHUB},{GITHUB}", "token_[REDACTED:token],[REDACTED:token]"),
        (
            json.dumps({"out": f"\n{GITHUB}\n{TOKENS['openai'](RNG)}\n"}),
            r'{"out": "\n[REDACTED:token]\n[REDACTED:token]\n"}',
        ),
        (WEB_TOKEN.rpartition(".")[0], WEB_TOKEN.rpartition(".")[0]),
        ("task-sk-" + "a" * 40, "task-sk-" + "a" * 40),
        ("sk" + "-" + "a" * 16, "[REDACTED:token]"),
        ("sk" + "-" + "a" * 15, "sk" + "-" + "a" * 15),
        ("data:image/png;base64,xAI" + "za" + "b" * 40, "data:image/png;base64,xAI" + "za" + "b" * 40),
    ],
)
def test_tokens_begin_and_end_where_they_do(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bearer " + "x" * 16, "bearer [REDACTED:token]"),
        ("Bearer " + "x" * 15, "Bearer " + "x" * 15),
        ("authorization: bearer " + "x" * 8, "authorization: bearer [REDACTED:token]"),
        ('{"Authorization":"Bearer ' + "x" * 20 + '"}', '{"Authorization":"Bearer [REDACTED:token]"}'),
        (r"-H \"Authorization: Basic YTpi+/w=\" x", r"-H \"Authorization: Basic [REDACTED:token]\" x"),
        ("Proxy-Authorization: Basic YTpiYzpk", "Proxy-Authorization: Basic [REDACTED:token]"),
        ("Authorization: token 0123456789abcdef", "Authorization: token [REDACTED:token]"),
        (
            "headers['Authorization'] = 'Basic YTpiYzpk'",
            "headers['Authorization'] = 'Basic [REDACTED:token]'",
        ),
        ("access_token=Bearer%20" + "x" * 20, "access_token=[REDACTED:secret]"),
        ("url?auth=Bearer%20" + "x" * 20, "url?auth=Bearer%20[REDACTED:token]"),
    ],
)
def test_headers_keep_their_scheme(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:p@ss:w@host.example/a@b", "https://[REDACTED:credentials]@host.example/a@b"),
        ("https://me@host.example?x=@", "https://[REDACTED:credentials]@host.example?x=@"),
        ("postgres://u:p%40s@[::1]:5432/db", "postgres://[REDACTED:credentials]@[::1]:5432/db"),
        ("ssh://me:pw@host.example/x", "ssh://[REDACTED:credentials]@host.example/x"),
        (
            r'{"url":"https:\/\/me:pw@host.example\/x"}',
            r'{"url":"https:\/\/[REDACTED:credentials]@host.example\/x"}',
        ),
        ("https://ünï:cödé@host.example/x", "https://[REDACTED:credentials]@host.example/x"),
        ("['https://a.example','b@c.example']", "['https://a.example','b@c.example']"),
        ("ssh://git@host.example/x", "ssh://git@host.example/x"),
        ("https://host.example/@me https://host.example", "https://host.example/@me https://host.example"),
    ],
)
def test_a_user_in_an_address_ends_at_the_first_slash_question_mark_or_hash(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_positions_hold_where_lower_case_has_another_length() -> None:
    before = "İ" * 20 + "ẞﬁ" + "\N{KELVIN SIGN}"
    secret = some(RNG, ALNUM, 20)
    assert (
        redacted(f"{before} Password: {secret}0 {before}") == f"{before} Password: [REDACTED:secret] {before}"
    )


def test_letters_that_are_no_text_pass_through() -> None:
    text = "\ud800 \x00 \x1b[0m \U0010ffff password"
    assert REDACTOR.redact(text) == (text, 0)
    assert redacted(f"{text}: {GITHUB}\ud800") == f"{text}: [REDACTED:secret]"
