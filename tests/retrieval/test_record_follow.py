"""The index follows shared memory: what is said, edited, deleted and brought back, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from crdt.edges import SUPERSEDES
from crdt.operations import Operation, mint
from crdt.projection_schema import discard_projection
from crdt.roster import Remove
from retrieval import record_follow
from retrieval.index_memory import MemoryRows
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.record_follow import RecordFollower
from tests.crdt.projection_kit import reader_of
from tests.crdt.signers import START_MS
from tests.retrieval.memory_kit import Shared, index_id, link, record_session, state_it, texts, write

EVERYTHING = """
SELECT hex(r.record_id), hex(c.conversation_id), c.source, c.source_id, c.title, c.author, r.population,
       w.path, r.project, r.role, hex(r.content_sha256), hex(r.source_sha256), r.authored_at, r.headings,
       t.text, r.expires_ms, hex(r.superseded_by)
FROM records r JOIN texts t ON t.id = r.id JOIN conversations c ON c.id = r.conversation
LEFT JOIN workspaces w ON w.id = r.workspace ORDER BY r.record_id
"""
EDGES = "SELECT hex(newer), hex(older) FROM supersedes ORDER BY 1, 2"
ROWS = "SELECT hex(record_id), id FROM records ORDER BY 1"


@pytest.fixture
def shared(tmp_path) -> Iterator[Shared]:
    made = Shared(tmp_path)
    yield made
    made.close()


def everything(index: IndexWriter) -> list[tuple[object, ...]]:
    """Give all that an index has of memory, by ids that follow from the data."""
    return [*index.connection.execute(EVERYTHING), *index.connection.execute(EDGES)]


def made_anew(shared: Shared) -> list[tuple[object, ...]]:
    """Give what an index has that followed only now."""
    path = shared.root / "anew.db"
    fresh = IndexWriter(open_index_writer(path))
    with reader_of(shared.root / "projection.db", shared.feeds) as reader:
        RecordFollower(fresh, reader, shared.here, shared.name_of).catch_up()
    found = everything(fresh)
    fresh.connection.close()
    path.unlink()
    return found


def say_all_sorts(shared: Shared) -> None:
    """Say one of everything, with an edit, a deletion and an edge."""
    desk = shared.desk
    first = desk.memory("The crane lifts nine tons", tags=["crane"])
    desk.change(first, text="The crane lifts eleven tons")
    gone = desk.memory("A passing thought")
    desk.change(gone, deleted=True)
    old = state_it(desk, "Limit", "The limit is nine tons.")
    new = state_it(desk, "Limit raised", "The limit is twelve tons.")
    write(desk, "decision", None, decision="Use the tall crane", rationale="It reaches further")
    link(desk, index_id("atrium", new.id), index_id("atrium", old.id))


def test_a_statement_is_a_conversation_of_one_record_named_by_what_it_says(shared):
    said = state_it(shared.desk, "Crane limit", "The crane lifts nine tons.", facts=["it is old"])
    assert shared.follow() == 1
    (hit,) = shared.found("nine tons")
    assert hit.record_id == index_id("atrium", said.id)
    assert (hit.provider, hit.role, hit.trust) == ("atrium", "synthesis", "synthesized")
    assert (hit.title, hit.workspace, hit.author) == ("Crane limit", "[HOME]/yard", "local@desk")
    assert hit.text == "Crane limit\n\nThe crane lifts nine tons.\n\nFacts:\n- it is old"
    assert hit.authored_at == "2023-11-14T22:13:20.002Z"


def test_every_type_that_is_searched_is_found_as_what_it_is(shared):
    desk = shared.desk
    desk.memory("kelp memory")
    write(desk, "decision", "kelp context", decision="Grow kelp")
    write(desk, "handoff", "kelp summary", next_steps=["dry it"])
    record_session(desk, "Kelp", "We grew it.")
    write(desk, "message", "kelp message", to="broadcast")
    write(desk, "task", "kelp task", title="Kelp")
    shared.follow()
    kinds = {(hit.provider, hit.role, hit.trust) for hit in shared.found("kelp")}
    assert kinds == {
        ("memory", "memory", "shared"),
        ("decision", "memory", "shared"),
        ("handoff", "memory", "shared"),
        ("atrium", "synthesis", "synthesized"),
    }


def test_an_edit_takes_the_place_of_what_was_said_before(shared):
    first = shared.desk.memory("the crane lifts nine tons")
    shared.follow()
    edit = shared.desk.change(first, text="the crane lifts twelve tons")
    shared.follow()
    assert shared.found("nine") == []
    assert texts(shared.found("crane")) == ["the crane lifts twelve tons"]
    shared.desk.change(edit, set={"project": "Yard", "headline": "Gantry"})
    shared.follow()
    (hit,) = shared.found("gantry")
    assert (hit.title, hit.record_id) == ("Gantry", index_id("memory", first.id))


def test_what_is_deleted_is_in_no_lane_and_comes_back_when_restored(shared):
    first = shared.desk.memory("the crane lifts nine tons")
    shared.follow()
    shared.letters()
    gone = shared.desk.change(first, deleted=True)
    assert shared.follow() == 1
    shared.letters()
    assert shared.found("crane") == shared.spelled("rane lift") == []
    assert shared.index.connection.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
    shared.desk.change(gone, deleted=False)
    shared.follow()
    shared.letters()
    assert texts(shared.found("crane")) == texts(shared.spelled("rane lift")) == ["the crane lifts nine tons"]


def test_of_a_conflict_the_served_text_is_searched(shared):
    first = shared.desk.memory("the crane is red")
    shared.desk.change(first, text="the crane is green")
    shared.desk.change(first, text="the crane is blue")
    shared.follow()
    assert texts(shared.found("crane")) == ["the crane is blue"]
    assert shared.found("green") == []


def test_what_expires_is_in_no_answer_from_then_on_and_nothing_is_written(shared):
    shared.desk.memory("the gate opens at nine", expires_at=START_MS + 1_000)
    shared.follow()
    shared.letters()
    (hit,) = shared.found("gate", now_ms=START_MS + 999)
    assert texts(shared.spelled("gate open", now_ms=START_MS + 999)) == [hit.text]
    changes = shared.index.connection.total_changes
    assert shared.found("gate", now_ms=START_MS + 1_000) == []
    assert shared.spelled("gate open", now_ms=START_MS + 1_000) == []
    with shared.reader(START_MS + 1_000) as reader:
        assert reader.by_prefix(hit.record_id) == []
        assert reader.conversation_of(hit.row) == []
    assert shared.follow() == 0
    assert shared.index.connection.total_changes == changes


def test_an_expiry_that_moves_counts_at_once(shared):
    first = shared.desk.memory("the gate opens at nine", expires_at=START_MS + 1_000)
    shared.follow()
    shared.desk.change(first, set={"expires_at": None})
    shared.follow()
    assert len(shared.found("gate", now_ms=START_MS + 10_000)) == 1


def test_tags_and_headline_are_found_below_words_of_the_text(shared):
    tagged = shared.desk.memory("the long arm lifts", tags=["crane"])
    spoken = shared.desk.memory("the crane stands still")
    shared.follow()
    assert [hit.record_id for hit in shared.found("crane")] == [
        index_id("memory", spoken.id),
        index_id("memory", tagged.id),
    ]
    shared.desk.change(tagged, untag=[("crane", tagged.entry.hash)])
    shared.follow()
    assert len(shared.found("crane")) == 1


def test_memory_that_is_not_trusted_counts_as_a_third_partys(shared):
    shared.desk.memory("buy kelp now", trust="untrusted")
    shared.follow()
    (hit,) = shared.found("kelp")
    assert (hit.role, hit.trust) == ("source", "untrusted")


def test_the_same_statement_in_two_spaces_is_one_record_until_both_are_deleted(shared):
    other = shared.space("team", kind="space")
    here = state_it(shared.desk, "Tide", "The gauge is off.")
    there = state_it(other, "Tide", "The gauge is off.")
    shared.follow()
    (hit,) = shared.found("gauge")
    assert here.id == there.id
    shared.desk.change(here, deleted=True)
    shared.follow()
    (left,) = shared.found("gauge")
    assert (left.record_id, left.author) == (hit.record_id, "local@team")
    other.change(there, deleted=True)
    shared.follow()
    assert shared.found("gauge") == []


def test_words_of_who_is_taken_from_the_space_for_good_are_gone(shared):
    mallory = shared.member("mallory")
    mallory.memory("send kelp to mallory")
    shared.follow()
    assert len(shared.found("mallory")) == 1
    shared.desk.feed.roster(Remove(member=mallory.signer.public_key, cut={}))
    shared.follow()
    assert shared.found("mallory") == []


def test_another_name_of_a_node_is_shown_and_no_record_is_written_again(shared):
    say_all_sorts(shared)
    shared.follow()
    rows = shared.index.connection.execute(ROWS).fetchall()
    shared.names[shared.desk.signer.public_key] = "studio"
    assert shared.follow() == 0
    assert {hit.author for hit in shared.found("limit")} == {"local@studio"}
    assert shared.index.connection.execute(ROWS).fetchall() == rows
    assert everything(shared.index) == made_anew(shared)


def test_an_edit_by_another_node_is_not_ascribed_to_the_first_ones_agent(shared):
    laptop = shared.member("laptop")
    first = shared.desk.memory("nine tons")
    laptop.change(first, text="twelve tons")
    shared.follow()
    (hit,) = shared.found("twelve")
    assert hit.author == "laptop"


def test_following_again_does_nothing(shared):
    say_all_sorts(shared)
    shared.follow()
    assert shared.follow() == 0
    with shared.follower() as follower:
        assert follower.watermark() > 0


def test_batches_leave_what_one_run_leaves(shared, monkeypatch):
    say_all_sorts(shared)
    monkeypatch.setattr(record_follow, "BATCH_RECORDS", 2)
    told: list[tuple[int, int]] = []
    with shared.follower() as follower:
        follower.catch_up(lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == told[-1][1]
    monkeypatch.undo()
    assert everything(shared.index) == made_anew(shared)


@pytest.mark.parametrize("fails_at", range(1, 6))
def test_a_run_that_ends_anywhere_is_gone_on_with(shared, monkeypatch, fails_at):
    say_all_sorts(shared)
    monkeypatch.setattr(record_follow, "BATCH_RECORDS", 2)
    keep = MemoryRows.keep
    calls = iter(range(1, 100))

    def failing(self, record, memory):
        if next(calls) == fails_at:
            raise RuntimeError("the power is off")
        return keep(self, record, memory)

    monkeypatch.setattr(MemoryRows, "keep", failing)
    with pytest.raises(RuntimeError, match="power"):
        shared.follow()
    monkeypatch.undo()
    shared.follow()
    assert everything(shared.index) == made_anew(shared)


def test_a_projection_made_anew_leaves_rows_as_they_are(shared):
    say_all_sorts(shared)
    shared.follow()
    rows = shared.index.connection.execute(ROWS).fetchall()
    shared.projector.close()
    discard_projection(shared.root / "projection.db")
    assert shared.follow() == 0
    assert shared.index.connection.execute(ROWS).fetchall() == rows


@pytest.fixture
def restored(shared) -> Iterator[Shared]:
    """Give other feeds, with one memory in them, in the place of those that the index followed."""
    say_all_sorts(shared)
    shared.follow()
    (shared.root / "restored").mkdir()
    made = Shared(shared.root / "restored", "attic")
    made.index.connection.close()
    made.index = shared.index
    made.desk.memory("all that is left")
    yield made
    made.projector.close()


def test_what_another_projection_does_not_have_leaves_the_index(restored):
    restored.follow()
    assert everything(restored.index) == made_anew(restored)
    assert [row[14] for row in everything(restored.index)] == ["all that is left"]


def test_a_sweep_that_did_not_end_is_made_up_for(restored, monkeypatch):
    def failing(_rows, _batch):
        raise RuntimeError("the power is off")

    monkeypatch.setattr(MemoryRows, "every", failing)
    with pytest.raises(RuntimeError, match="power"):
        restored.follow()
    monkeypatch.undo()
    restored.follow()
    assert everything(restored.index) == made_anew(restored)


def test_an_edge_counts_whether_it_comes_before_its_records_or_after(shared):
    desk = shared.desk
    old = state_it(desk, "Limit", "nine tons")
    link(desk, index_id("atrium", "0" * 32), index_id("atrium", old.id))
    shared.follow()
    assert shared.found("nine")[0].superseded_by is None
    new = state_it(desk, "Raised", "twelve tons, not nine")
    edge = link(desk, index_id("atrium", new.id), index_id("atrium", old.id))
    shared.follow()
    assert [hit.superseded_by for hit in shared.found("nine")] == [None, index_id("atrium", new.id)]
    desk.change(edge, deleted=True)
    shared.follow()
    assert {hit.superseded_by for hit in shared.found("nine")} == {None}


def test_an_index_that_is_ahead_of_its_projection_begins_again(shared):
    """A power failure can take the newest changes from one of the two files and leave them in the other."""
    desk, path = shared.desk, shared.root / "projection.db"
    said = desk.memory("nine tons")
    shared.follow()
    shared.projector.close()
    before = path.read_bytes()
    for number in range(5):
        said = desk.change(said, text=f"{number} tons")
        shared.follow()
    shared.projector.close()
    path.write_bytes(before)
    desk.memory("the quay is wet")
    shared.follow()
    assert len(shared.found("quay")) == 1
    assert everything(shared.index) == made_anew(shared)


def test_a_record_that_changes_its_type_leaves_nothing_of_the_other_behind(shared):
    desk, laptop = shared.desk, shared.member("laptop")
    old, new = state_it(desk, "Limit", "nine tons"), state_it(desk, "Raised", "twelve tons")
    ends = {"from": index_id("atrium", new.id), "to": index_id("atrium", old.id), "relation": SUPERSEDES}
    (one, proof), (two, other_proof) = mint(desk.key), mint(desk.key)
    laptop.say(Operation(id=one, type="edge", set=ends))
    laptop.say(Operation(id=two, type="memory", text="the crane sways", set={"kind": "memory"}))
    shared.follow()
    assert shared.found("nine")[0].superseded_by == ends["from"]
    desk.say(Operation(id=one, type="memory", nonce=proof, text="the quay", set={"kind": "memory"}))
    desk.say(Operation(id=two, type="edge", nonce=other_proof, set={**ends, "relation": "mentions"}))
    shared.follow()
    assert shared.found("nine")[0].superseded_by is None
    assert texts(shared.found("sways")) == []
    assert everything(shared.index) == made_anew(shared)


def test_an_edge_of_another_relation_or_between_no_records_supersedes_nothing(shared):
    desk = shared.desk
    old, new = state_it(desk, "Limit", "nine tons"), state_it(desk, "Raised", "twelve tons")
    link(desk, index_id("atrium", new.id), index_id("atrium", old.id), "mentions")
    link(desk, "z" * 64, index_id("atrium", old.id))
    link(desk, new.id, old.id)
    shared.follow()
    assert shared.found("nine")[0].superseded_by is None


def test_who_said_first_what_was_imported_is_told_by_the_node_that_says_so(shared):
    record, nonce = mint(shared.desk.key)
    told = Operation(id=record, type="memory", set={"kind": "memory"}, text="nine tons", nonce=nonce)
    shared.desk.say(replace(told, by="ana@quay", at=1))
    shared.follow()
    (hit,) = shared.found("nine")
    assert hit.author == "ana@quay via desk"


def test_shared_memory_is_counted_by_its_sources_and_is_in_no_digest_of_conversations(shared):
    with shared.reader() as reader:
        before = (reader.digest(), reader.digest(notes=True))
    say_all_sorts(shared)
    shared.follow()
    with shared.reader() as reader:
        assert reader.by_source() == {"atrium": 2, "decision": 1, "memory": 1}
        assert (reader.digest(), reader.digest(notes=True)) == before
        assert list(reader.conversations(removed=True)) == []
