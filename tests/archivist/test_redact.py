"""The redactor as a whole: the table's rules, counts, order, fixed points, and time that stays linear."""

from __future__ import annotations

import json
import re
import string
import time
from collections.abc import Iterator

import pytest
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from archivist.redact import REDACTOR_VERSION, Redactor
from tests.archivist.redaction_corpus import (
    ALNUM,
    HARMLESS,
    HOMES,
    NAMES,
    TOKENS,
    dice,
    key_block,
    passphrase,
    some,
)

REDACTOR = Redactor(HOMES)
RNG = dice(7)
GITHUB = TOKENS["github"](RNG)
BLOCK = key_block(RNG)
PLAIN = "hunter2" * 2

TABLE = {
    "key block": (BLOCK, "[REDACTED:private-key]"),
    "password": (f"password: {PLAIN}", "password: [REDACTED:secret]"),
    "bearer": (f"Authorization: Bearer {'abcdefgh' * 3}", "Authorization: Bearer [REDACTED:token]"),
    "aws": (f"key {TOKENS['aws access key'](RNG)} is live", "key [REDACTED:aws-access-key] is live"),
    "github": (f"token {GITHUB} is live", "token [REDACTED:token] is live"),
    "address": (
        f"get https://me:{PLAIN}@host.example/x",
        "get https://[REDACTED:credentials]@host.example/x",
    ),
}
ALSO = {
    "basic": ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [REDACTED:token]"),
    "home": ("cd /home/al/src", "cd [HOME]/src"),
    "inner home": ("cd /home/al/work/src", "cd [HOME]/src"),
    "private span": ("before <private>mine</private>after", "before after"),
    "open private span": ("before <private>mine", "before "),
    "private span in JSON": (r'"a \u003cprivate\u003emine\u003c/private\u003eb"', '"a b"'),
    "named block": (f"password: {BLOCK}", "password: [REDACTED:private-key]"),
    "token in a header": (f"Authorization: Bearer {GITHUB}", "Authorization: Bearer [REDACTED:token]"),
    "named token": (f"export API_KEY={GITHUB}", "export API_KEY=[REDACTED:secret]"),
    "token in an address": (f"https://{GITHUB}@host.example/r", "https://[REDACTED:token]@host.example/r"),
    "password in an address": (
        "https://x-access-token:abcdefgh12@host.example/r",
        "https://[REDACTED:credentials]@host.example/r",
    ),
}


@pytest.mark.parametrize(("text", "redacted"), [*TABLE.values(), *ALSO.values()], ids=[*TABLE, *ALSO])
def test_each_rule_leaves_its_marker_and_counts_once(text: str, redacted: str) -> None:
    assert REDACTOR.redact(text) == (redacted, 1)


@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_of_every_issuer_go(kind: str) -> None:
    marker = "[REDACTED:aws-access-key]" if kind.startswith("aws") else "[REDACTED:token]"
    for seed in range(200):
        text = f"it is {TOKENS[kind](dice(seed))}, I think"
        assert REDACTOR.redact(text) == (f"it is {marker}, I think", 1)


def test_one_of_each_kind_counts_as_many() -> None:
    assert REDACTOR.redact("\n".join(text for text, _ in TABLE.values())) == (
        "\n".join(redacted for _, redacted in TABLE.values()),
        len(TABLE),
    )


@pytest.mark.parametrize("text", [*HARMLESS, "\n".join(HARMLESS), ""])
def test_what_merely_looks_like_a_secret_is_the_same_object_after(text: str) -> None:
    redacted, count = REDACTOR.redact(text)
    assert (redacted, count) == (text, 0)
    assert redacted is text


def test_the_version_is_told() -> None:
    assert REDACTOR.version == REDACTOR_VERSION == 1


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("/home/al:/home/al/work:/home/alice", "[HOME]:[HOME]:/home/alice"),
        ("in /home/al. And '/home/al'", "in [HOME]. And '[HOME]'"),
        ("file:///home/al/x file:///root/y", "file://[HOME]/x file://[HOME]/y"),
        ("-I/root/include -L/home/al/lib", "-I[HOME]/include -L[HOME]/lib"),
        (r'{"output":"one\n/root/x\t/home/al/y"}', r'{"output":"one\n[HOME]/x\t[HOME]/y"}'),
        (r"C:\Users\al\x and C:\\Users\\al\\x", r"[HOME]\x and [HOME]\\x"),
        ("ünïcode — /home/al/ñ", "ünïcode — [HOME]/ñ"),
    ],
)
def test_homes_go_longest_first_and_on_path_boundaries(text: str, redacted: str) -> None:
    assert REDACTOR.redact(text)[0] == redacted


def test_homes_that_would_match_anything_are_left_out() -> None:
    text = "a / b C:\\ home x"
    assert Redactor(["/", "", "home", "C:\\", "//"]).redact(text) == (text, 0)
    assert Redactor([]).redact("/home/al") == ("/home/al", 0)
    assert Redactor(["/home/al/"]).redact("/home/al/x") == ("[HOME]/x", 1)


def test_private_spans_nest_and_what_they_join_is_looked_at_again() -> None:
    assert REDACTOR.redact("a<private>b<private>c</private>d</private>e") == ("ae", 1)
    assert REDACTOR.redact("pass<private>x</private>word: " + PLAIN) == ("password: [REDACTED:secret]", 2)
    assert REDACTOR.redact("<pri<private>x</private>vate>mine</private>!") == ("!", 2)
    assert REDACTOR.redact("<private>x</private> </private>") == (" </private>", 1)


PIECES = (
    *(
        "password",
        "token",
        "secret",
        "api_key",
        "API_KEY",
        "DB_PASS",
        "_KEY",
        "clientSecret",
        "key",
        "--token ",
    ),
    *(
        ":",
        "=",
        " ",
        "\n",
        "\\n",
        '"',
        '\\"',
        '\\\\\\"',
        "'",
        "`",
        ",",
        ";",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
    ),
    *(
        "/",
        "?",
        "#",
        "@",
        "&",
        "://",
        "https://",
        "ssh://git@",
        "user:pw@host",
        ":\\/\\/",
        "%20",
        "**",
        "::",
        "==",
    ),
    *(
        "Bearer ",
        "Authorization: ",
        "Basic ",
        "abcdefgh",
        PLAIN,
        "x",
        "1234567890",
        "a" * 20,
        "Z9" * 20,
        "é",
        "—",
    ),
    *(
        "gh" + "p_",
        "AK" + "IA",
        "sk" + "-",
        "sk" + "-ant-",
        "ey" + "J",
        ".",
        "glp" + "at-",
        "xox" + "b-",
        "AI" + "za",
    ),
    *(
        "np" + "m_",
        "h" + "f_",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "MIIE" * 8,
    ),
    *("<private>", "</private>", "private", "\\u003cprivate\\u003e", *HOMES, "[HOME]", "[REDACTED:secret]"),
    *("[REDACTED:token]", "[REDACTED:credentials]@", "self.", "${", "$", "export ", "str = ", '"""', "\\\\"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join) | st.text(max_size=200))
@settings(max_examples=600, deadline=None)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once, count = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == (once, 0)
    assert (count == 0) == (once is text)


seeds = st.integers(0, 2**32)
around = st.text(st.sampled_from(string.ascii_lowercase + " \n\t.,;:!?()[]<>\"'`*|"), max_size=40)
prose = st.text(st.sampled_from(string.ascii_letters + " \n\té—.,"), max_size=80)


@given(seeds, st.sampled_from(sorted(TOKENS)), prose, around, prose)
@settings(max_examples=400, deadline=None)
def test_no_token_survives_in_any_surroundings(seed: int, kind: str, head: str, near: str, tail: str) -> None:
    secret = TOKENS[kind](dice(seed))
    for text in (
        f"{head} {near}\n{secret} {near}{tail}",
        f"{head}\n({secret}){tail}",
        f"{near}\\n{secret}\\n{tail}",
    ):
        assert secret[8:] not in REDACTOR.redact(text)[0]


@given(seeds, st.sampled_from(NAMES), st.sampled_from((":", "=", " = ", ": ", ":=", " => ")), prose)
@settings(max_examples=400, deadline=None)
def test_no_named_secret_survives_in_a_line(seed: int, name: str, separator: str, around_it: str) -> None:
    secret = passphrase(dice(seed))
    text = f"{around_it}\n{name}{separator}{secret}\n{around_it}"
    assert secret not in REDACTOR.redact(text)[0]


@given(seeds, st.sampled_from(NAMES), st.integers(0, 3), prose, st.sampled_from((None, 2)))
@settings(max_examples=400, deadline=None)
def test_no_named_secret_survives_in_json(
    seed: int, name: str, depth: int, other: str, indent: int | None
) -> None:
    secret = passphrase(dice(seed))
    text = json.dumps({"before": other, name: f'{secret}" {secret}', "after": other}, indent=indent)
    for _ in range(depth):
        text = json.dumps({"input": text, "other": other})
    redacted = REDACTOR.redact(text)[0]
    assert secret not in redacted
    assert json.loads(redacted).keys() == json.loads(text).keys()


@given(
    seeds, st.sampled_from(("DB_PASSWORD", "API_KEY", "A_TOKEN", "A_SECRET", "FTP_PASS")), st.integers(0, 2)
)
@settings(max_examples=400, deadline=None)
def test_no_secret_survives_in_a_file_of_settings(seed: int, name: str, depth: int) -> None:
    rng = dice(seed)
    secret = rng.choice(ALNUM) + some(rng, ALNUM + ",;&|(){}@!=+", 14) + "7"
    text = f"# settings\nHOST=here\nexport {name}={secret}\n{name}='{secret}'\nPORT=80\n"
    for _ in range(depth):
        text = json.dumps({"content": text})
    redacted = REDACTOR.redact(text)[0]
    assert secret not in redacted
    assert "HOST=here" in redacted
    assert "PORT=80" in redacted


@given(seeds, st.sampled_from(sorted(TOKENS)))
@settings(max_examples=200, deadline=None)
def test_no_secret_survives_in_a_shell(seed: int, kind: str) -> None:
    rng = dice(seed)
    secret, word = TOKENS[kind](rng), passphrase(rng)
    lines = [
        f"curl -H 'Authorization: Bearer {secret}' https://host.example/v1",
        f"GITHUB_TOKEN={secret} make release && echo done",
        f'docker run -e "API_KEY={secret}" image --password={word} --verbose',
        f"login --token {word} --name me; git clone https://me:{secret}@host.example/r.git",
        f'echo "{secret}" | tee key; psql postgres://me:{some(rng, ALNUM, 12)}0@db.example:5432/x',
    ]
    for text in ("\n".join(lines), json.dumps({"command": "\n".join(lines)})):
        redacted = REDACTOR.redact(text)[0]
        assert secret[8:] not in redacted
        assert word not in redacted
        assert "postgres://[REDACTED:credentials]@db.example:5432/x" in redacted


def test_the_secrets_of_a_generated_corpus_all_go() -> None:
    rng = dice(1)
    for _ in range(500):
        body = some(rng, ALNUM, 32)
        value = rng.choice(
            ["gh" + f"p_{body}", "sk" + f"-ant-{body}", "AK" + f"IA{body[:16].upper()}", f"hunter{body[:12]}"]
        )
        line = f"password: {value}" if value.startswith("hunter") else f"export API_KEY={value}"
        text = f"Why does it fail?\n{line}"
        assert REDACTOR.redact(text) == (text.replace(value, "[REDACTED:secret]"), 1)


DETECTORS = (
    *(
        "AWSKeyDetector",
        "BasicAuthDetector",
        "GitHubTokenDetector",
        "GitLabTokenDetector",
        "JwtTokenDetector",
    ),
    *("KeywordDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "SlackDetector"),
)


def texts_for_the_oracle() -> Iterator[str]:
    """Write each kind of secret as people do."""
    rng = dice(3)
    for kind, token in TOKENS.items():
        yield f"{kind}: {token(rng)}"
        yield f'key = "{token(rng)}"  # {kind}'
        yield json.dumps({"output": f"export {kind} {token(rng)}\ndone"})
    for name in NAMES:
        yield f"{name} = '{passphrase(rng)}'"
        yield json.dumps({name: passphrase(rng), "user": "me"})
        yield f"{name}={passphrase(rng)}"
    yield from (
        f"{scheme}://me:{some(rng, ALNUM, 14)}@host.example/x" for scheme in ("https", "postgres", "amqp")
    )
    yield from (key_block(rng, label) for label in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))


def flagged(text: str) -> list[str]:
    """Ask detect-secrets what it sees outside our markers."""
    bare = re.sub(r"\[REDACTED:[a-z-]+\]", "", text)
    return [found.secret_value or "" for line in bare.splitlines() for found in scan_line(line)]


def test_another_scanner_finds_nothing_in_what_was_redacted() -> None:
    texts = list(texts_for_the_oracle())
    with transient_settings({"plugins_used": [{"name": name} for name in DETECTORS]}):
        assert sum(bool(flagged(text)) for text in texts) > len(texts) // 3, "the scanner is not at work"
        assert [found for text in texts if (found := flagged(REDACTOR.redact(text)[0]))] == []


ADVERSARIES = (
    *(
        "a@",
        "://",
        "password:",
        "password: ",
        "-----BEGIN",
        "-----BEGIN RSA PRIVATE KEY-----",
        "ey" + "J.",
        "<private>",
    ),
    *(
        "bearer%20",
        'token="',
        "secret=a(",
        "/home/al",
        "--token a",
        "token=\\\\",
        'password=\\"\\',
        "://token:",
    ),
)
SIZE_CHARS = 1_000_000
RATIO_MAX = 10
"""Four times the text takes four times as long; it would take sixteen times if time grew with the square."""


def cpu_s(text: str) -> float:
    """Measure one redaction."""
    start = time.process_time()
    REDACTOR.redact(text)
    return time.process_time() - start


@pytest.mark.parametrize("piece", ADVERSARIES)
def test_time_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    quarter, whole = (cpu_s(piece * (size // len(piece))) for size in (SIZE_CHARS // 4, SIZE_CHARS))
    assert whole < RATIO_MAX * max(quarter, 0.005)
