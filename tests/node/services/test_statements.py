"""What makes a statement, what it is named, and how it reads."""

from __future__ import annotations

import hashlib
import json

import pytest

from archivist.redact import Redactor
from crdt.errors import BadInput
from crdt.statements import job_key, render
from node.services import statements
from node.services.statements import Statement, checked, label_of, redacted

GOOD: dict[str, object] = {
    "title": "Crane limit",
    "summary": "The crane lifts nine tons.",
    "facts": ["crane limit is nine tons"],
    "open_ends": ["inspect the hook"],
}
YARD = "[HOME]/work/yard"


def without(*names: str) -> dict[str, object]:
    return {name: value for name, value in GOOD.items() if name not in names}


def test_lists_are_optional_unless_it_has_to_be_complete():
    assert checked(without("facts", "open_ends")) == Statement(
        title="Crane limit", summary="The crane lifts nine tons."
    )
    assert checked(GOOD, complete=True) == checked(GOOD)
    with pytest.raises(BadInput, match="`open_ends` is missing"):
        checked(without("open_ends"), complete=True)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (without("title"), "`title` is missing"),
        (without("summary"), "`summary` is missing"),
        (GOOD | {"mood": "fine"}, "`mood` is no field"),
        (GOOD | {"title": "  "}, "`title` is blank"),
        (GOOD | {"title": 7}, "`title` is a number"),
        (GOOD | {"title": True}, "`title` is true or false"),
        (GOOD | {"title": None}, "`title` is null"),
        (GOOD | {"summary": ["x"]}, "`summary` is a list"),
        (GOOD | {"summary": {}}, "`summary` is an object"),
        (GOOD | {"facts": "pier four"}, "`facts` is a text, not a list"),
        (GOOD | {"facts": None}, "`facts` is null"),
        (GOOD | {"facts": ["x", 1]}, r"`facts\[1\]` is a number"),
        (GOOD | {"open_ends": [""]}, r"`open_ends\[0\]` is blank"),
        (GOOD | {"summary": "half \ud800"}, "`summary` has half a character at 5"),
    ],
)
def test_what_breaks_the_rules_is_refused_by_name(document, said):
    with pytest.raises(BadInput, match=said):
        checked(document)


def test_every_part_has_its_bound():
    longest = {
        "title": "t" * statements.TITLE_CHARS_MAX,
        "summary": "s" * statements.SUMMARY_CHARS_MAX,
        "facts": ["f"] * statements.ITEMS_MAX,
        "open_ends": ["e" * statements.ITEM_CHARS_MAX],
    }
    checked(longest)
    for name, value in (
        ("title", "t" * (statements.TITLE_CHARS_MAX + 1)),
        ("summary", "s" * (statements.SUMMARY_CHARS_MAX + 1)),
        ("facts", ["f"] * (statements.ITEMS_MAX + 1)),
        ("open_ends", ["e" * (statements.ITEM_CHARS_MAX + 1)]),
    ):
        with pytest.raises(BadInput, match=name):
            checked(longest | {name: value})
    with pytest.raises(BadInput, match="KiB"):
        checked(longest | {"facts": ["f" * statements.ITEM_CHARS_MAX] * statements.ITEMS_MAX})


def test_every_text_is_redacted_and_counted():
    said, count = redacted(
        Statement(
            title="Gate", summary="password: hunter2hunter2", facts=["password=hunter2hunter2"],
            open_ends=["look in /home/ada/notes"],
        ),
        Redactor(["/home/ada"]).redact,
    )  # fmt: skip
    assert count == 3
    assert "hunter2" not in render(said.fields(YARD))
    assert said.open_ends == ["look in [HOME]/notes"]


def test_what_is_private_from_end_to_end_is_not_kept():
    redact = Redactor([]).redact
    with pytest.raises(BadInput, match="`title` is private"):
        redacted(Statement(title="<private>x</private>", summary="y"), redact)
    said, _ = redacted(Statement(title="x", summary="y", facts=["<private>z</private>", "w"]), redact)
    assert said.facts == ["w"]


def test_a_secret_that_runs_from_one_text_into_the_next_is_refused():
    document = GOOD | {"title": "-----BEGIN PRIVATE KEY-----", "summary": "MIIEvQ\n-----END PRIVATE KEY-----"}
    with pytest.raises(BadInput, match="begins in one text"):
        redacted(checked(document), Redactor([]).redact)


def test_a_name_follows_from_workspace_and_words():
    said = checked(GOOD)
    spelled = json.dumps(GOOD, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert job_key(said.fields(YARD)) == hashlib.sha256(f"{YARD}\0{spelled}".encode()).hexdigest()[:32]
    assert said.fields(YARD).keys() - GOOD.keys() == {"workspace", "project"}
    bare = checked(without("facts")).fields(YARD)
    assert job_key(checked(GOOD | {"facts": []}).fields(YARD)) == job_key(bare)


@pytest.mark.parametrize(
    ("workspace", "label"), [("[HOME]/work/Yard", "yard"), ("/srv/x/", "x"), ("[HOME]", "[home]")]
)
def test_a_label_is_the_last_name(workspace, label):
    assert label_of(workspace) == label
