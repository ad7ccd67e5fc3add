r"""Find secrets that only their name gives away: `password: …`, `API_KEY=…`, `\"token\": \"…\"`.

A candidate is a name with a separator right after it.  Its value is read as what it stands in: a quoted
string (of JSON, of JSON within JSON, of code), a line of settings, or a bare word.  In doubt it counts as a
secret; left alone is what is plainly code or a template: calls, subscripts, members, a variable of the same
name, `${NAME}`, `<your token>`, and counts such as `max_token`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from archivist.redaction_rules import MARKER, Letters, Span, in_order

SECRET = "[REDACTED:secret]"  # noqa: S105
VALUE_CHARS_MIN = 8
"""The specification's: shorter values are words of prose more often than secrets."""
QUOTED_CHARS_MAX = 4_096
"""A string that goes on for longer is read as a bare word; this bounds what one candidate costs."""
BEFORE_CHARS_MAX = 80
"""How much of the line before a name is looked at."""

_SEPARATOR = r"(?:[_-]?\d{1,2})?[\\\"'`\])*]{0,16}[ \t]{0,8}(?:!?={1,3}>?|:(?!:)=?)"
_KEY_OR_TOKEN = re.compile(rf"k(?P<name>ey|en(?<=token)){_SEPARATOR}")
"""Their common letter is looked for, which saves a walk over every text."""
_PASSWORD = re.compile(rf"(?P<name>pass(?:word|wd|phrase)?){_SEPARATOR}")
_SECRET = re.compile(rf"(?P<name>secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?)?){_SEPARATOR}")
_IN_MARKER = re.compile(r"\[redacted:[a-z-]*\Z")
_ENV_NAME = re.compile(r"[A-Z0-9]_\Z")
_KEY_OF = re.compile(
    r"(?:api |(?:api|access|secret|private|auth|account|encryption|signing|master|shared|ssh"
    r"|aws)[_.-]?)\Z"
)
_PASS_OF = re.compile(r"(?:db|database|user|admin|root|mysql|pg|postgres|redis|smtp|ftp|mail|login|sudo)_\Z")
_COUNT_OF = re.compile(r"(?:max|min|num|total|input|output|prompt|completion|per|limit|budget|count|pad)_?\Z")
_NUMBER = re.compile(r"[0-9][0-9_.,]*(?:e[+-]?[0-9]+)?\Z")
_FLAG_VALUE = r"[^\s\"'`<>(){}|&;,\\\[\]]"
_FLAG = re.compile(
    r"--(?:[a-z]{1,12}-){0,2}(?:password|passwd|token|secret|api-?key)[ \t]+[\"']?"
    rf"(?P<value>(?![$-])(?={_FLAG_VALUE}*[0-9])(?={_FLAG_VALUE}*[a-z]){_FLAG_VALUE}{{8,}}+)"
)
"""The table has no flags, but `--password …` in a shell is the same secret; its digit keeps prose out."""

_OPENING = re.compile(
    r"[ \t*]*(?:(?:str|string|String|bytes|any|Any|&(?:'static )?str|(?:Optional|Final)\[\w+\])"
    r"(?: ?\| ?\w+)? ?= ?(?=[\"']))?"
    r"(?:(?:[\[(] ?)?[bBrRfFuU@]{0,2}(?P<slashes>\\{0,31})(?P<quote>\"{3}|'{3}|[\"'`]))?"
)
_CLOSINGS = {quote: re.compile(rf"(?<!\\)(\\*+){quote}") for quote in ('"""', "'''", '"', "'", "`")}
_BETWEEN_STRINGS = re.compile(r"(?:[,;)\]}]+(?:\s|\Z)|[+.&|?:]+\s)")
"""What follows a string that ends with a name, as in `{"ask": "Password:", "for": "root"}`."""
_WORD = re.compile(r"(?:[^\s\"'`,;<>(){}|&\\\[\]]|\\{1,2}(?![nrtbfu\"'`\\]))++")
_LINE_START = re.compile(r"(?:\n|\\n|[\"'`])[ \t]*(?:(?:export|set|ENV|-)[ \t]+)?[\w.-]*\Z")
_LINE_VALUE = re.compile(r"([^\s\"'`\\]{8,}+)(?=[ \t]*(?:#|\r|\n|\\+[nr\"']|[\"'`]|\Z))")
_INTERPOLATED = re.compile(r"\$?\{[A-Za-z_][^{}\s:]*\}")
_SETTING = re.compile(r"\n[ \t]*(?:(?:export|set|ENV)[ \t]+)?[\w.-]*_\Z")
_BLANK = re.compile(r"[ \t]+")
_QUOTE = re.compile(r"[\"'`]")

_TEMPLATE = re.compile(
    r"(?:\$[A-Z_][A-Z0-9_]*|\$?\{[A-Za-z_][\w.]*\}|\$?\{\{[^{}]*\}\}|\$\([^()]*\)|%[A-Z_]+%"
    r"|<[A-Za-z][A-Za-z _-]*>|[xX*.•]+)\Z"
)
_CODE_WORDS = frozenset(
    (
        "cancellationtoken",
        "function",
        "nullable",
        "optional",
        "readonly",
        "required",
        "secretstr",
        "undefined",
    )
)
_CALL = re.compile(
    r"[A-Za-z_$]++(?:(?:\??\.|::)[A-Za-z_]++)*+(?:\([^\n]{0,200}\)|\[[^\n]{0,200}\]|<[^\n]{0,200}>)(?!\w)"
)
_MEMBER = re.compile(
    r"(?:(?:self|this|cls|os|process|import|config|settings|args|options|opts|env|secrets|ctx|context|req|request"
    r"|res|response|params|props|data|user|session|state|client|body|event|vars?|local|module)"
    r"(?:\??\.[A-Za-z_]+)+|[A-Za-z_]+(?:::[A-Za-z_]+)+)\Z"
)
_IN_AUTHORITY = re.compile(r"://[^\s/?#]*\Z")
_USER_END = re.compile(r"[^/?#]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """Where a name stands in the text, and the letters before it (in lower case too)."""

    text: str
    name: str
    start: int
    separator_end: int
    before: str
    before_lowered: str

    @property
    def line_before(self) -> str:
        """Give the letters before the name, with the line feed that the text's first line lacks."""
        return self.before if len(self.before) == BEFORE_CHARS_MAX else f"\n{self.before}"


def may_hold_named_value(lowered: str) -> bool:
    """Tell whether the name of a secret, with a separator after it, is in the text."""
    if (":" in lowered or "=" in lowered) and (
        _KEY_OR_TOKEN.search(lowered) or _PASSWORD.search(lowered) or _SECRET.search(lowered)
    ):
        return True
    return "--" in lowered and _FLAG.search(lowered) is not None


def named_values(letters: Letters) -> Iterator[Span]:
    """Find the values of secrets' names; name, separator and quotes stay."""
    return in_order(_named_values(letters))


def _named_values(letters: Letters) -> Iterator[Span]:
    for names in (_KEY_OR_TOKEN, _PASSWORD, _SECRET):
        yield from _values_of(names, letters)
    if "--" in letters.lowered:
        yield from ((flag.start("value"), flag.end(), SECRET) for flag in _FLAG.finditer(letters.lowered))


def _values_of(names: re.Pattern[str], letters: Letters) -> Iterator[Span]:
    """Skip names within a value that was taken, so that a long value is not read once for each of them."""
    done = 0
    for found in names.finditer(letters.lowered):
        if found.start() < done:
            continue
        site = _site(letters, found)
        start, end = _value(site) if _names_a_secret(site) else (0, 0)
        if len(letters.text[start:end].strip()) >= VALUE_CHARS_MIN:
            done = end
            yield start, end, SECRET


def _site(letters: Letters, found: re.Match[str]) -> _Site:
    name = {"ey": "key", "en": "token"}.get(found["name"], found["name"])
    start = found.end("name") - len(name)
    left = max(0, start - BEFORE_CHARS_MAX)
    return _Site(
        text=letters.text,
        name=name,
        start=start,
        separator_end=found.end(),
        before=letters.text[left:start],
        before_lowered=letters.lowered[left:start],
    )


def _names_a_secret(site: _Site) -> bool:
    """Tell `API_KEY` from `primary_key` and markers; `key` and `pass` alone are ordinary words."""
    if _IN_MARKER.search(site.before_lowered):
        return False
    if site.name not in {"key", "pass"}:
        return True
    if site.text.startswith(site.name.upper(), site.start) and _ENV_NAME.search(site.before):
        return True
    if _is_a_setting(site):
        return True
    return (_KEY_OF if site.name == "key" else _PASS_OF).search(site.before_lowered) is not None


def _is_a_setting(site: _Site) -> bool:
    """Tell a line `stripe_key=…` of a file of settings from code, which has blanks or brackets there."""
    return (
        site.text.startswith("=", site.start + len(site.name))
        and _SETTING.search(site.line_before) is not None
        and _LINE_VALUE.match(site.text, site.separator_end) is not None
    )


def _value(site: _Site) -> tuple[int, int]:
    """Give where the value lies; start and end are equal where there is no secret.

    A blank after a quote means that the quote ends a string, as in `"?token=" + token + "&page="`, and what
    follows is read as bare words.
    """
    opening = _OPENING.match(site.text, site.separator_end)
    if opening is None or not opening["quote"]:
        start = opening.end() if opening else site.separator_end
        return start, _bare_end(site, start)
    start = opening.end()
    end = _closing(site.text, opening)
    blank = _BLANK.match(site.text, start)
    if end < 0 or blank is not None:
        start = blank.end() if blank else start
        return start, _bare_end(site, start)
    if _BETWEEN_STRINGS.match(site.text, start, end) or _TEMPLATE.match(site.text, start, end):
        return start, start
    return start, _before_marker(site.text, start, end)


def _closing(text: str, opening: re.Match[str]) -> int:
    """Find where the quoted string ends on its line, or -1.

    In JSON within JSON, n levels deep, a string's own quotes carry s = 2^n - 1 backslashes.  A quote with s
    more than a multiple of 2s + 2 closes it, one with fewer than s ends a string around it.
    """
    start, slashes = opening.end(), len(opening["slashes"])
    limit = min(len(text), start + QUOTED_CHARS_MAX)
    newline = text.find("\n", start, limit)
    for closing in _CLOSINGS[opening["quote"]].finditer(text, start, limit if newline < 0 else newline):
        run = len(closing[1])
        if run < slashes or run % (2 * slashes + 2) == slashes:
            return closing.end(1) - min(run, slashes)
    return -1


def _bare_end(site: _Site, start: int) -> int:
    """Find the end of an unquoted value: of the line where settings are listed, of the word elsewhere."""
    line = _line_value(site, start)
    if line is not None and not _is_harmless_line(site, start, line):
        return _before_marker(site.text, start, start + len(line))
    word = _WORD.match(site.text, start)
    if word is None or _is_template(site, word[0]) or _is_code(site, start, word[0]):
        return start
    return word.end()


def _line_value(site: _Site, start: int) -> str | None:
    """Give the rest of a line such as `DB_PASSWORD=p@ss,w0rd;1`, in which no character ends a value."""
    if _QUOTE.search(site.text, site.start, start):
        return None
    if not _LINE_START.search(site.line_before) or _INTERPOLATED.match(site.text, start):
        return None
    line = _LINE_VALUE.match(site.text, start)
    return line[1] if line else None


def _is_harmless_line(site: _Site, start: int, line: str) -> bool:
    """Tell a line of code from one of settings; where a shell or a service reads it, a call is no call."""
    if line[-1] in ",;({[" or _is_template(site, line):
        return True
    name_end = site.start + len(site.name)
    is_setting = site.text.startswith("=", name_end) and site.text[site.start : name_end].isupper()
    return not is_setting and _is_code(site, start, line)


def _is_template(site: _Site, value: str) -> bool:
    """Tell a place for a secret, a variable with the name's own name, or a keyword from a secret."""
    small = value.lower()
    own_name = f"{site.before_lowered}{site.name}"
    return own_name.endswith(small) or small in _CODE_WORDS or _TEMPLATE.match(value) is not None


def _is_code(site: _Site, start: int, value: str) -> bool:
    """Tell an expression, a count, or an address, whose own rule sees to it, from a secret."""
    return (
        _MEMBER.match(value) is not None
        or _CALL.match(site.text, start) is not None
        or (_NUMBER.match(value) is not None and _COUNT_OF.search(site.before_lowered) is not None)
        or (_USER_END.match(value) is not None and _IN_AUTHORITY.search(site.before) is not None)
    )


def _before_marker(text: str, start: int, end: int) -> int:
    marker = MARKER.search(text, start, end)
    return marker.start() if marker else end
