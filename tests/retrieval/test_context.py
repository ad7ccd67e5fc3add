"""Evidence for a question: scope, notes, links, room, and what an answer warns of."""

from __future__ import annotations

import pytest

from retrieval.context import NOT_DEGRADING, WARNINGS, Answer, Question, answer, degrades
from retrieval.index_schema import discard_database
from retrieval.models import Deadline
from tests.retrieval.archive_kit import Indexed, Said, body, record, workspace

NOTES = {
    "access.md": "Atlas mail access is ORBIT-42. Follow [[topics/runbook]].",
    "topics/runbook.md": "Restart the relay on the second machine.",
}


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


@pytest.fixture
def incident(indexed) -> Indexed:
    indexed.tell(
        body("p", ["Atlas mail routes remotely"], workspace("mailer")),
        body("q", ["Atlas mail UNRELATED"], workspace("billing")),
    )
    indexed.note(NOTES).note({"web.md": "Atlas mail say DELIVERED"}, root="clips", role="source")
    return indexed


def ask(indexed: Indexed, text: str, **options) -> Answer:
    options.setdefault("lane", "words")
    with indexed.reader() as reader:
        return answer(reader, Question(text=text, **options), Deadline(60))


def shown(given: Answer) -> list[str]:
    return [item.excerpt.text for item in given.evidence]


def test_history_a_note_and_what_it_links_to_come_together(incident):
    given = ask(incident, "Atlas mail", workspace=workspace("mailer"))
    assert [item.piece.via for item in given.evidence] == ["history", "curated", "link"]
    history, note, linked = given.evidence
    assert history.excerpt.text == "Atlas mail routes remotely"
    assert note.piece.hit.note_path == "access.md"
    assert linked.piece.hit.note_path == "topics/runbook.md"
    assert linked.piece.parent_record_id == note.piece.hit.record_id
    assert linked.piece.hit.lane == "linked"
    assert linked.piece.hit.score <= note.piece.hit.score
    assert given.warnings == ()


def test_each_pass_says_what_it_did(incident):
    steps = ask(incident, "Atlas mail", workspace=workspace("mailer"), limit=5).steps
    assert [(step.name, step.scope, step.lane, step.candidates, step.candidate_limit) for step in steps] == [
        ("history", workspace("mailer"), "words", 1, 20),
        ("curated", None, "words", 1, 20),
        ("links", None, "linked", 1, 50),
    ]
    assert all(step.ms >= 0 for step in steps)


def test_history_is_never_taken_from_another_project(incident):
    given = ask(incident, "UNRELATED", workspace=workspace("mailer"))
    assert given.evidence == ()
    assert given.warnings == ("no_matches",)
    assert shown(ask(incident, "UNRELATED")) == ["Atlas mail UNRELATED"]


def test_a_third_party_never_speaks(incident):
    assert ask(incident, "DELIVERED").evidence == ()


def test_notes_and_history_take_turns(indexed):
    indexed.tell(*(body(f"c{n}", [f"kelp talk {n}"]) for n in range(9)))
    indexed.note({f"{n}.md": f"kelp note {n}" for n in range(2)})
    vias = [item.piece.via for item in ask(indexed, "kelp", limit=6).evidence]
    assert vias == ["history", "curated", "history", "curated", "history", "history"]


def test_what_was_said_twice_is_given_once(indexed):
    indexed.tell(body("a", ["The  KELP is cut"]), body("b", ["the kelp is cut"]))
    given = ask(indexed, "kelp")
    assert (len(given.evidence), given.deduplicated) == (1, 1)


def test_links_are_followed_from_every_piece_of_a_note_that_was_found(indexed):
    filler = "\n\n".join(f"## Part {n}\n\n{'word ' * 100}" for n in range(4))
    indexed.note(
        {
            "home.md": f"# Home\n\nThe kelp is cut.\n\n{filler}\n\n## See\n\n[[other]]",
            "other.md": "the knives",
        }
    )
    assert [item.piece.via for item in ask(indexed, "kelp").evidence] == ["curated", "link"]


def test_of_a_linked_note_the_piece_that_fits_is_shown(indexed):
    parts = "\n\n".join(f"# Part {n}\n\n{'filler ' * 60}" for n in range(4))
    crowd = {f"c{n}.md": f"restart kelp, a note with number {n}" for n in range(9)}
    indexed.note(
        {"a.md": "restart kelp restart kelp [[b]]", "b.md": f"{parts}\n\n# End\n\nrestart the relay", **crowd}
    )
    given = ask(indexed, "restart kelp", limit=2)
    assert [item.piece.via for item in given.evidence] == ["curated", "link"]
    assert "restart the relay" in given.evidence[1].piece.hit.text


def test_a_note_that_was_found_is_not_linked_again(indexed):
    indexed.note({"a.md": "kelp, see [[b]]", "b.md": "kelp, see [[a]]"})
    assert [item.piece.via for item in ask(indexed, "kelp").evidence] == ["curated", "curated"]


def test_links_that_lead_nowhere_or_out_are_reported_and_not_followed(indexed):
    indexed.note(
        {"a.md": "kelp [[missing]] [out](../../etc/passwd) [site](https://example.org)", "b.md": "x"}
    )
    given = ask(indexed, "kelp")
    assert set(given.warnings) == {"unsafe_link_ignored", "unresolved_indexed_link"}
    assert len(given.evidence) == 1
    assert not degrades(given.warnings)


def test_links_stay_within_the_root_of_the_note(indexed):
    indexed.note({"a.md": "kelp [[secret]]"}).note({"secret.md": "another root"}, root="other")
    given = ask(indexed, "kelp")
    assert shown(given) == ["kelp [[secret]]"]
    assert given.warnings == ("unresolved_indexed_link",)


def test_a_linked_note_whose_parent_repeats_history_is_named_so(indexed):
    indexed.tell(body("a", ["kelp, see [[b]]"])).note({"a.md": "kelp, see [[b]]", "b.md": "the knives"})
    given = ask(indexed, "kelp")
    assert [item.piece.via for item in given.evidence] == ["history", "link"]
    assert "linked_parent_deduplicated" in given.warnings


def test_a_full_pass_is_reported(indexed):
    indexed.tell(*(body(f"c{n}", [f"kelp {n}"]) for n in range(9)))
    assert ask(indexed, "kelp", limit=2).warnings == ("retrieval_candidate_limit_reached",)
    assert ask(indexed, "kelp", limit=3).warnings == ()


def test_room_is_kept_and_cuts_are_told(indexed):
    indexed.tell(
        body("a", ["start " * 500 + "the albatross landed " + "end " * 500]), body("b", ["albatross"])
    )
    given = ask(indexed, "albatross", chars_max=300)
    assert sum(len(text) for text in shown(given)) <= 300
    assert given.truncated
    assert all("albatross" in text for text in shown(given))
    assert not ask(indexed, "albatross", chars_max=10_000).truncated


def test_pieces_left_out_for_want_of_room_are_told(indexed):
    indexed.tell(*(body(f"c{n}", [f"kelp number {n} " + "word " * 30]) for n in range(3)))
    given = ask(indexed, "kelp", chars_max=50)
    assert len(given.evidence) == 1
    assert given.truncated


def test_a_match_by_neighbours_begins_at_the_start(indexed):
    indexed.tell(body("a", ["the kelp", Said(text="yes " * 200, role="assistant")]))
    near = ask(indexed, "kelp", chars_max=100).evidence[1]
    assert near.piece.hit.record_id == record("a", 1)
    assert near.excerpt.start == 0


def test_letters_answer_where_the_words_lane_is_blind(indexed):
    indexed.tell(body("a", ["x " * 300 + "the albatross landed" + " y" * 300])).note(
        {"n.md": "我们修改了数据库设置"}
    )
    given = ask(indexed, "albatr", lane="auto", chars_max=100)
    assert (given.history_lane, given.curated_lane) == ("substrings", "words")
    assert "albatross" in shown(given)[0]
    assert shown(ask(indexed, "设置", lane="auto")) == ["我们修改了数据库设置"]


def test_auto_says_that_there_are_no_vectors_and_is_not_degraded_by_it(incident):
    given = ask(incident, "Atlas", lane="auto")
    assert set(given.warnings) == {
        "history_vectors_missing_lexical_fallback",
        "curated_vectors_missing_lexical_fallback",
    }
    assert not degrades(given.warnings)


def test_dense_is_answered_by_words_and_degraded(incident):
    given = ask(incident, "Atlas", lane="dense")
    assert given.warnings == ("semantic_unavailable_lexical_fallback",)
    assert degrades(given.warnings)
    assert given.history_lane == "words"


def test_time_that_is_up_is_a_warning_and_no_empty_answer(incident):
    with incident.reader() as reader:
        given = answer(reader, Question(text="Atlas", lane="words"), Deadline(0))
    assert "lexical_budget_exhausted" in given.warnings
    assert degrades(given.warnings)


def test_time_that_is_up_for_want_of_the_lane_names_what_makes_it(incident):
    with incident.opened() as local:
        discard_database(local.paths.substrings_db)
    with incident.reader() as reader:
        given = answer(reader, Question(text="Atlas", lane="substring"), Deadline(0))
    assert "context_indexes_missing_run_prepare_context" in given.warnings


def test_an_empty_index_is_told_from_no_match(indexed):
    indexed.tell()
    assert ask(indexed, "kelp").warnings == ("index_empty",)
    indexed.tell(body("a", ["the anchor"]))
    assert ask(indexed, "kelp").warnings == ("no_matches",)


def test_how_much_of_a_question_is_covered(indexed):
    indexed.tell(body("a", ["the relay was slow"]))
    assert ask(indexed, "relay restart").covered == 0.5
    assert ask(indexed, "pelican").covered == 0


def test_what_does_not_degrade_is_a_warning():
    assert NOT_DEGRADING < WARNINGS
    assert degrades(["no_matches", "refresh_stale"])
    assert not degrades(["no_matches"])
    assert not degrades([])
