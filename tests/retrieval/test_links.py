"""Links between notes: reading them, finding what they mean, refusing what is unsafe."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.links import (
    MAX_TARGETS_PER_ROOT,
    UNRESOLVED,
    UNSAFE,
    KnownNotes,
    Link,
    follow,
    note_links,
    resolve,
)

KNOWN = KnownNotes(
    {
        "access.md": (),
        "topics/delivery-runbook.md": ("Delivery runbook", "DR"),
        "topics/access.md": ("Access: the long story",),
        "topics/Über uns.md": (),
        "a/index.md": ("A",),
        "b/index.md": ("B",),
        "ruins.md": ("access",),
    }
)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see [[page]]", [Link(target="page")]),
        ("[[page|shown]]", [Link(target="page", alias="shown")]),
        ("[[page|shown#part]]", [Link(target="page", alias="shown", anchor="part")]),
        ("[[page#part|shown]]", [Link(target="page", alias="shown", anchor="part")]),
        ("| [[page\\|shown]] |", [Link(target="page", alias="shown")]),
        ("[text](target.md#part)", [Link(target="target.md", alias="text", anchor="part")]),
        ('[text](<my target.md> "title")', [Link(target="my target.md", alias="text")]),
        ("[text](my%20target.md)", [Link(target="my target.md", alias="text")]),
        ("[x](https://example.org/y)", [Link(target="https://example.org/y", alias="x")]),
        ("[[a]] then [b](b.md) then [[a]]", [Link(target="a"), Link(target="b.md", alias="b")]),
        ("![[image.png]] ![alt](image.png)", []),
        ("[[#part]] [x](#part) [[]] [[ ]] [x]()", []),
        ("`[[code]]` and\n```sh\nif [[ -f x ]]; then\n```\n[[after]]", [Link(target="after")]),
        ("[[open\n]] [x] (y.md) [z]", []),
    ],
)
def test_links_are_read(text, links):
    assert note_links(text) == links


@pytest.mark.parametrize(
    ("target", "from_path", "path"),
    [
        ("topics/delivery-runbook", "access.md", "topics/delivery-runbook.md"),
        ("topics/delivery-runbook.md", "topics/x.md", "topics/delivery-runbook.md"),
        ("delivery-runbook", "topics/x.md", "topics/delivery-runbook.md"),
        ("./delivery-runbook.md", "topics/x.md", "topics/delivery-runbook.md"),
        ("delivery-runbook", "elsewhere/x.md", "topics/delivery-runbook.md"),
        ("Delivery-Runbook", "elsewhere/x.md", "topics/delivery-runbook.md"),
        ("Topics/Delivery-RUNBOOK", "access.md", "topics/delivery-runbook.md"),
        ("Delivery runbook", "access.md", "topics/delivery-runbook.md"),
        ("dr", "access.md", "topics/delivery-runbook.md"),
        ("access", "topics/x.md", "topics/access.md"),
        ("access", "x.md", "access.md"),
        ("Access: the long story", "x.md", "topics/access.md"),
        ("u\u0308ber uns", "x.md", "topics/Über uns.md"),
        ("index", "b/x.md", "b/index.md"),
        ("index", "x.md", "a/index.md"),
    ],
)
def test_a_link_finds_the_note_that_it_means(target, from_path, path):
    resolution = resolve(Link(target=target), from_path, KNOWN)
    assert (resolution.path, resolution.warning) == (path, None)


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org/access",
        "file:///etc/passwd",
        "mailto:a@b",
        "javascript:x",
        "C:x",
        "/access",
        "topics\\access",
        "access\0",
        "../access",
        "topics/../access",
        "..",
    ],
)
def test_an_unsafe_target_is_ignored_with_a_warning(target):
    resolution = resolve(Link(target=target), "topics/x.md", KNOWN)
    assert (resolution.path, resolution.warning) == (None, UNSAFE)


def test_encoding_hides_nothing_from_the_check():
    (link,) = note_links("[x](%2e%2e/access.md)")
    assert resolve(link, "topics/x.md", KNOWN).warning == UNSAFE


@pytest.mark.parametrize("target", ["absent", "topics/absent.md", "picture.png", "topics", ".", "a..b"])
def test_what_is_not_indexed_is_unresolved(target):
    assert resolve(Link(target=target), "access.md", KNOWN).warning == UNRESOLVED


def test_one_hop_names_each_target_once_and_never_the_note_itself():
    followed = follow(
        [("access.md", "[[access]] [[DR]] [[gone]]"), ("a/index.md", "[x](../x) [[DR]] [[index]] [[B]]")],
        KNOWN,
    )
    assert followed.targets == (("topics/delivery-runbook.md", "access.md"), ("b/index.md", "a/index.md"))
    assert followed.warnings == (UNRESOLVED, UNSAFE)
    assert not followed.is_saturated


def test_one_hop_is_bounded():
    known = KnownNotes({f"n{number}.md": () for number in range(200)})
    text = " ".join(f"[[n{number}]]" for number in range(200))
    followed = follow([("n0.md", text)], known)
    assert len(followed.targets) == MAX_TARGETS_PER_ROOT
    assert followed.is_saturated


@given(text=st.text(alphabet="[]()|#!`~\n ab./\\:<>\"'%", max_size=80))
def test_no_text_makes_reading_or_resolving_fail(text):
    for link in note_links(text):
        resolution = resolve(link, "topics/x.md", KNOWN)
        assert (resolution.path is None) is (resolution.warning is not None)


@pytest.mark.parametrize("piece", ["[", "[[a", "[x](", "](", "`", "[[a]]", "![[", "```\n", "[a](<b"])
def test_a_megabyte_of_links_takes_a_moment(piece):
    started = time.process_time()
    note_links(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 5
