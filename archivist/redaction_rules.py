"""Find secrets that their own form gives away: private spans, key blocks, headers, tokens, addresses.

Every finder takes a text as `Letters` and gives spans in rising order that don't overlap.  Its twin
`may_hold_…` is a cheap look, mostly in the flat or the lower case form, for the letters without which there
is nothing to find; almost every text ends there, which is what keeps capture fast.  They start from the
rarest letter, because a single letter is searched for ten times faster than a word.  What was looked at once
is not looked at again (possessive quantifiers, bounds), so that time is linear in any text whatever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Letters(NamedTuple):
    """A text; the text with a `?` for all that is not ASCII; that in lower case.  Positions are the same."""

    text: str
    flat: str
    lowered: str

    @staticmethod
    def of(text: str) -> Letters:
        """Prepare a text for the finders."""
        return Letters(text, *flattened(text))


def flattened(text: str) -> tuple[str, str]:
    """Give a text with a `?` for all that is not ASCII, and that in lower case, without moving a letter."""
    flat = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    return flat, flat.lower()


Span = tuple[int, int, str]
"""Start, end, and what takes the place of the characters between."""

PRIVATE_KEY = "[REDACTED:private-key]"
TOKEN = "[REDACTED:token]"  # noqa: S105
AWS_ACCESS_KEY = "[REDACTED:aws-access-key]"
CREDENTIALS = "[REDACTED:credentials]"
MARKER = re.compile(r"\[(?:REDACTED:|HOME\])")
"""How everything begins that a redaction left behind; no rule takes a piece of it."""

KEY_BLOCK_CHARS_MAX = 16_384
"""A block is taken whole, whatever is in it, when its END is no further; an RSA key of 16,384 bits fits."""

AUTHORIZED_CHARS_MIN = {"basic": 6, "bearer": 8, "token": 8, "apikey": 8, "api-key": 8}
"""What follows `Authorization: <scheme>` may be shorter than a bearer token that stands alone."""
BEARER_CHARS_MIN = 16

_PRIVATE_TAG = re.compile(r"(?:<|\\u003c)(/?)private(?:>|\\u003e)")
_PRIVATE_OPENS = re.compile(r"<(?=p)private[>\\]")
_PRIVATE_OPENS_ESCAPED = re.compile(r"\\(?=u)u003cprivate")

_GAP = r"(?:[\s\"'`>|,+]|\\+[nrt])*+"
_KEY_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset) ?:(?:[^\n\\]|\\(?![nr]))*+"
_KEY_BEGIN = re.compile(rf"-----BEGIN {_KEY_LABEL}")
_KEY_MAY_BEGIN = re.compile(r"G(?<=-----BEG)IN ")
_KEY_TO_END = re.compile(rf"[^-]*+(?:-(?!----)[^-]*+)*+-----END {_KEY_LABEL}")
_KEY_LAST_LINE = (
    r"(?:(?=[A-Za-z]{0,15}[0-9+/=]|[A-Za-z]{0,13}[a-z][A-Z])[A-Za-z0-9+/]{1,15}={0,2}(?![A-Za-z0-9])"
    r"|[A-Za-z]{1,15}(?=[\s\"'}\]\\]*+\Z))"
)
"""Shorter than the others, and unlike a word of what follows, or the last there is."""
_KEY_BODY = re.compile(
    rf"(?:{_GAP}{_KEY_HEADER})*+(?:"
    rf"(?:{_GAP}[A-Za-z0-9+/=]{{16,}}+)++(?:{_GAP}{_KEY_LAST_LINE})?(?:{_GAP}-----END {_KEY_LABEL})?"
    rf"|{_GAP}[A-Za-z0-9+/=]{{1,15}}+(?=[\s\"'}}\]\\]*+\Z))"
)

_AUTHORIZATION = re.compile(
    r"authorization[\"'\\\])]{0,8}\s{0,4}[:=,]\s{0,4}[\"'\\]{0,8}(basic|bearer|token|api-?key)[ \t]+"
)
_MAY_AUTHORIZE = re.compile(r"z(?<=authoriz)ation")
_BEARER = re.compile(r"bearer(?:[ \t]+|%20)")
_HEADER_VALUE = re.compile(r"(?![$%*])[^\s\"'`,;<>(){}\\\[\]]++")

_AUTHORITY = re.compile(r":(?://|\\/\\/)([^\s/?#\"'`<>\\]+)@")
_NAME_ONLY_SCHEMES = ("ssh", "sftp", "scp", "rsync")
"""Where a user name without a password, as in a git remote, lets nobody in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """How one issuer's tokens look; `holds` refuses what only begins alike."""

    pattern: re.Pattern[str]
    marker: str = TOKEN
    holds: Callable[[re.Match[str]], bool] | None = None


def _has_three_parts(match: re.Match[str]) -> bool:
    """Tell a JSON web token from any other base64 of JSON, which is matched as well lest it be read twice."""
    return match["rest"] is not None


def _is_not_words(match: re.Match[str]) -> bool:
    """Tell a key, which has a long run or mixed characters, from words that hyphens join."""
    body = match[0][3:]
    mixed = len(body) >= 20 and body != body.lower() and any(map(str.isdigit, body))
    return mixed or _LONG_RUN.search(body) is not None


_LONG_RUN = re.compile(r"[A-Za-z0-9]{16}")
_WITH_UNDERSCORE = (
    _Shape(pattern=re.compile(r"gh[oprsu]_[A-Za-z0-9]{16,}+[A-Za-z0-9_]*+")),
    _Shape(pattern=re.compile(r"github_pat_[A-Za-z0-9_]{16,}+")),
    _Shape(pattern=re.compile(r"npm_[A-Za-z0-9]{20,}+")),
    _Shape(pattern=re.compile(r"hf_(?:(?<![A-Za-z0-9]hf_)|(?<=\\[nrtbf]hf_))[A-Za-z0-9]{20,}+")),
)
_WITH_HYPHEN = (
    _Shape(pattern=re.compile(r"glpat-[A-Za-z0-9_-]{16,}+(?:\.[A-Za-z0-9_-]++)*+")),
    _Shape(
        pattern=re.compile(r"sk-(?:(?<![A-Za-z0-9-]sk-)|(?<=\\[nrtbf]sk-))[A-Za-z0-9_-]{16,}+"),
        holds=_is_not_words,
    ),
    _Shape(pattern=re.compile(r"xox[baprs]-[A-Za-z0-9-]{10,}+")),
)
_WITH_CAPITALS = (
    _Shape(pattern=re.compile(r"AKIA[A-Z0-9]{16,}+"), marker=AWS_ACCESS_KEY),
    _Shape(pattern=re.compile(r"ASIA[A-Z0-9]{16,}+"), marker=AWS_ACCESS_KEY),
    _Shape(pattern=re.compile(r"AIza(?:(?<![A-Za-z0-9+]AIza)|(?<=\\[nrtbf]AIza))[A-Za-z0-9_-]{30,}+")),
)
_OF_JSON = (
    _Shape(
        pattern=re.compile(
            r"eyJ[A-Za-z0-9_-]*+(?P<rest>(?:\.[A-Za-z0-9_-]{4,}+){2}(?:\.[A-Za-z0-9_-]++){0,2})?"
        ),
        holds=_has_three_parts,
    ),
)
_AFTER_UNDERSCORE = re.compile(
    r"_(?=[A-Za-z0-9_]{16})(?:(?<=gh[oprsu]_)|(?<=npm_)|(?<=hf_)|(?<=github_pat_))"
)
_AFTER_HYPHEN = re.compile(r"-(?=[A-Za-z0-9_-]{10})(?:(?<=sk-)|(?<=glpat-)|(?<=xox[baprs]-))")
_AFTER_JSON = re.compile(r"J(?<=eyJ)")
_AFTER_CAPITALS = re.compile(r"I(?:(?<=AI)za[A-Za-z0-9_-]{30}|(?<=A[KS]I)A[A-Z0-9]{16})")


def in_order(spans: Iterable[Span]) -> Iterator[Span]:
    """Give spans by where they start, without those that reach into an earlier one."""
    end = 0
    for span in sorted(spans):
        if span[0] >= end:
            yield span
            end = span[1]


def may_hold_private_span(lowered: str) -> bool:
    """Tell whether an opening tag `<private>` can be in the text."""
    return ("<" in lowered and _PRIVATE_OPENS.search(lowered) is not None) or (
        "\\" in lowered and _PRIVATE_OPENS_ESCAPED.search(lowered) is not None
    )


def private_spans(letters: Letters) -> Iterator[Span]:
    """Find `<private>…</private>` with its tags; such spans may nest, and an open one lasts to the end."""
    depth = start = 0
    for tag in _PRIVATE_TAG.finditer(letters.lowered):
        closes = tag[1] == "/"
        if depth == 0 and not closes:
            start = tag.start()
        if depth == 1 and closes:
            yield start, tag.end(), ""
        depth = max(0, depth - 1) if closes else depth + 1
    if depth:
        yield start, len(letters.text), ""


def may_hold_key_block(flat: str) -> bool:
    """Tell whether a PEM block can begin in the text."""
    return "G" in flat and _KEY_MAY_BEGIN.search(flat) is not None


def key_blocks(letters: Letters) -> Iterator[Span]:
    """Find PEM private keys: raw, in JSON, quoted line by line, and cut off before their END line."""
    end = 0
    for begin in _KEY_BEGIN.finditer(letters.text):
        if begin.start() < end:
            continue
        whole = _KEY_TO_END.match(letters.text, begin.end())
        if whole is None or len(whole[0]) > KEY_BLOCK_CHARS_MAX:
            whole = _KEY_BODY.match(letters.text, begin.end())
        if whole is not None:
            end = whole.end()
            yield begin.start(), end, PRIVATE_KEY


def may_hold_header(lowered: str) -> bool:
    """Tell whether an `Authorization` header or a bearer token can be in the text."""
    return "bearer" in lowered or ("z" in lowered and _MAY_AUTHORIZE.search(lowered) is not None)


def header_values(letters: Letters) -> Iterator[Span]:
    """Find what follows `Authorization: <scheme>` and, anywhere, `Bearer`; the scheme stays."""
    starts = {scheme.end(): BEARER_CHARS_MIN for scheme in _BEARER.finditer(letters.lowered)}
    for scheme in _AUTHORIZATION.finditer(letters.lowered):
        starts[scheme.end()] = AUTHORIZED_CHARS_MIN[scheme[1]]
    done = 0
    for start in sorted(starts):
        value = _HEADER_VALUE.match(letters.text, start) if start >= done else None
        if value is not None and len(value[0]) >= starts[start]:
            done = value.end()
            yield start, done, TOKEN


def may_hold_token(flat: str) -> bool:
    """Tell whether the beginning of some issuer's token is in the text."""
    return (
        ("_" in flat and _AFTER_UNDERSCORE.search(flat) is not None)
        or ("-" in flat and _AFTER_HYPHEN.search(flat) is not None)
        or ("I" in flat and _AFTER_CAPITALS.search(flat) is not None)
        or ("J" in flat and _AFTER_JSON.search(flat) is not None)
    )


def tokens(letters: Letters) -> Iterator[Span]:
    """Find access keys and tokens that their issuers gave a form of their own."""
    return in_order(
        (match.start(), match.end(), shape.marker)
        for shape in _shapes_in(letters.flat)
        for match in shape.pattern.finditer(letters.text)
        if shape.holds is None or shape.holds(match)
    )


def _shapes_in(flat: str) -> Iterator[_Shape]:
    if _AFTER_CAPITALS.search(flat):
        yield from _WITH_CAPITALS
    if _AFTER_UNDERSCORE.search(flat):
        yield from _WITH_UNDERSCORE
    if _AFTER_HYPHEN.search(flat):
        yield from _WITH_HYPHEN
    if _AFTER_JSON.search(flat):
        yield from _OF_JSON


def may_hold_address(text: str) -> bool:
    """Tell whether an address with a user can be in the text."""
    return "@" in text and _AUTHORITY.search(text) is not None


def address_users(letters: Letters) -> Iterator[Span]:
    """Find the user information of URLs, which ends at the first `/`, `?` or `#`; the `@` is in the span."""
    for authority in _AUTHORITY.finditer(letters.text):
        user = authority[1]
        if MARKER.search(user) is None and not _is_name_only(letters.text, authority.start(), user):
            yield authority.start(1), authority.end(), f"{CREDENTIALS}@"


def _is_name_only(text: str, scheme_end: int, user: str) -> bool:
    return ":" not in user and text[max(0, scheme_end - 8) : scheme_end].lower().endswith(_NAME_ONLY_SCHEMES)
