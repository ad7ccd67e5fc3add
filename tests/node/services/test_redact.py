"""The redact use-case: a dry run tells, an applied one leaves nothing behind, a killed one is completed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from node import config
from node.composition import Local, open_local
from node.services import rebuild, status
from node.services import redact as module
from node.services.capture import handle as capture
from node.services.ingest_notes import handle as ingest_notes
from node.services.query_log import LoggedQuestion, log_question
from node.services.redact import handle
from node.services.requests import CaptureRequest, NotesRequest, RedactRequest
from tests.node.filled import tree
from tests.retrieval.archive_kit import ignore

SECRET = "gh" + "p_" + "a1B2" * 9


class Older:
    """A redactor of version 0 that lets everything through."""

    version = 0

    def redact(self, text: str) -> tuple[str, int]:
        """Leave a text as it is."""
        return text, 0


class State:
    """A state directory in which an older redactor let a token through, everywhere."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "state"
        self.transcripts, self.notes = root / "transcripts", root / "notes"
        for folder in (self.transcripts, self.notes, root / "home"):
            folder.mkdir()
        self.tell("leak", f"the token is {SECRET}", "noted")
        self.tell("pier", "where is the pier")
        (self.notes / "a.md").write_text(f"# Note {SECRET}\n\nIt is {SECRET}.\n")
        with closing(self.local()) as local:
            local.__dict__["redactor"] = Older()
            self.capture(local)
            ingest_notes(local, NotesRequest(root=str(self.notes)), ignore)
            self.ask(local)

    def local(self) -> Local:
        """Open the state for writing."""
        environ = {"ATRIUM_STATE": str(self.state), "HOME": str(self.root / "home")}
        return open_local(config.load(environ=environ, directory=self.root), writable=True)

    def tell(self, name: str, *texts: str) -> None:
        """Write a transcript."""
        lines = [
            {"id": f"{name}{place}", "role": "user", "text": text, "timestamp": f"2026-03-01T08:00:0{place}Z"}
            for place, text in enumerate(texts)
        ]
        path = self.transcripts / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def capture(self, local: Local) -> None:
        """Capture the transcripts."""
        capture(local, CaptureRequest(roots={"generic": [str(self.transcripts)]}), ignore)

    def ask(self, local: Local) -> None:
        """Log a question."""
        question = LoggedQuestion(
            query=f"what is {SECRET}", asked_at=datetime.now(UTC), scope=None, lane="words", evidence=[],
            covered=0.0, warnings=[], elapsed_ms=1.0,
        )  # fmt: skip
        assert log_question(local, question)

    def redact(self, *, apply: bool = True) -> dict[str, object]:
        """Redact, as a command of its own."""
        with closing(self.local()) as local:
            return handle(local, RedactRequest(apply=apply), ignore)

    def holding(self) -> list[str]:
        """Name the files that hold the token, segments as they are before compression."""
        found = []
        for path in sorted(self.state.rglob("*")):
            data = path.read_bytes() if path.is_file() else b""
            if path.suffix == ".zst":
                with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
                    data = reader.read()
            # Words are folded in the index, and letters there are in threes.
            if SECRET.encode() in data or SECRET.lower().encode() in data:
                found.append(str(path.relative_to(self.state)))
        return found

    def texts(self) -> set[str]:
        """List what is indexed."""
        with closing(self.local()) as local, local.reader() as reader:
            return {text for (text,) in reader.connection.execute("SELECT text FROM texts")}


@pytest.fixture
def state(tmp_path: Path) -> State:
    """Give a state with a leak."""
    return State(tmp_path)


REDACTED = {
    "the token is [REDACTED:token]",
    "noted",
    "where is the pier",
    "# Note [REDACTED:token]\n\nIt is [REDACTED:token].",
}


def test_the_older_redactor_let_it_into_everything(state: State) -> None:
    held = state.holding()
    assert {"canonical/feeds.db", "derived/index.db"} <= set(held)
    assert any(name.startswith("synthesis/queries/") for name in held)


def test_a_dry_run_tells_and_changes_nothing(state: State) -> None:
    before = tree(state.state)
    document = state.redact(apply=False)
    assert (document["changed"], document["redactions"], document["applied"]) == (1, 1, False)
    assert tree(state.state) == before


def test_a_dry_run_where_nothing_is_finds_nothing_and_makes_nothing(tmp_path: Path) -> None:
    environ = {"ATRIUM_STATE": str(tmp_path / "state"), "HOME": str(tmp_path)}
    settings = config.load(environ=environ, directory=tmp_path)
    with closing(open_local(settings, writable=False)) as local:
        assert handle(local, RedactRequest(), ignore)["fragments"] == 0
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("sealed", [False, True])
def test_an_applied_run_takes_it_out_of_every_byte(state: State, sealed: bool) -> None:
    if sealed:
        with closing(state.local()) as local:
            local.archive.seal()
            local.follower.catch_up()
    document = state.redact()
    assert (document["changed"], document["segments"], document["applied"]) == (1, 1, True)
    assert state.holding() == []
    assert state.texts() == REDACTED


def test_it_is_gone_beside_an_open_node_too(state: State) -> None:
    with closing(state.local()) as local:
        state.capture(local)
        handle(local, RedactRequest(apply=True), ignore)
        assert state.holding() == []
        state.tell("pier", "where is the pier", "still here")
        state.capture(local)
    assert "still here" in state.texts()


def test_a_second_run_has_nothing_to_do(state: State) -> None:
    state.redact()
    before = {path: path.read_bytes() for path in state.state.rglob("*") if path.suffix in (".zst", ".jsonl")}
    with closing(state.local()) as local:
        generation, head = local.index.meta("generation"), local.archive.log.head()
        document = handle(local, RedactRequest(apply=True), ignore)
        assert (document["changed"], document["segments"]) == (0, 0)
        assert (local.index.meta("generation"), local.archive.log.head()) == (generation, head)
    after = {path: path.read_bytes() for path in state.state.rglob("*") if path.suffix in (".zst", ".jsonl")}
    assert after == before


def test_the_digest_changes_with_what_changed_and_with_nothing_else(state: State) -> None:
    def digests() -> tuple[dict[str, str], object]:
        with closing(state.local()) as local, local.reader() as reader:
            rows = reader.connection.execute(
                "SELECT hex(record_id), hex(content_sha256) FROM records WHERE population = 0"
            )
            return dict(rows.fetchall()), reader.digest()

    before, digest = digests()
    state.redact()
    after, other = digests()
    assert digest != other
    assert before.keys() == after.keys()
    assert sum(before[name] != after[name] for name in before) == 1


def test_notes_alone_are_reason_enough(state: State) -> None:
    state.redact()
    (state.notes / "b.md").write_text(f"Another {SECRET}.\n")
    with closing(state.local()) as local:
        local.__dict__["redactor"] = Older()
        ingest_notes(local, NotesRequest(root=str(state.notes)), ignore)
    assert state.holding() != []
    assert state.redact()["changed"] == 0
    assert state.holding() == []
    assert "Another [REDACTED:token]." in state.texts()


def test_questions_keep_all_but_the_token(state: State) -> None:
    state.redact()
    (day,) = (state.state / "synthesis" / "queries").glob("*.jsonl")
    (line,) = day.read_text().splitlines()
    assert json.loads(line)["query"] == "what is [REDACTED:token]"
    assert json.loads(line)["lane"] == "words"


def test_transcripts_that_are_read_again_bring_nothing_back(state: State) -> None:
    state.redact()
    with closing(state.local()) as local:
        local.local_store.forget_reading()
        head = local.archive.log.head()
        state.capture(local)
        assert local.archive.log.head() == head
    assert state.holding() == []


STEPS: dict[str, tuple[Callable[[Local], object], str]] = {
    "before the old files are erased": (lambda local: local.archive.segments, "remove"),
    "before questions are redacted": (lambda _local: module, "redact_questions"),
    "before the log is folded": (lambda local: local.archive.log, "fold"),
    "before the index is made anew": (lambda _local: rebuild, "handle"),
    "before that is noted": (lambda _local: module, "_GENERATION"),
}


@pytest.fixture
def killed(state: State, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> State:
    """Give a state in which a redaction was killed at a step."""

    def die(*_given: object) -> None:
        raise KeyboardInterrupt

    target, name = STEPS[request.param]
    with closing(state.local()) as local, monkeypatch.context() as patch:
        patch.setattr(target(local), name, die if name != "_GENERATION" else object())
        with pytest.raises((KeyboardInterrupt, Exception)):
            handle(local, RedactRequest(apply=True), ignore)
    return state


@pytest.mark.parametrize("killed", STEPS, indirect=True)
def test_a_run_that_was_killed_is_completed_by_the_next(killed: State) -> None:
    with closing(killed.local()) as local:
        local.follower.catch_up()
    assert killed.redact()["applied"]
    assert killed.holding() == []
    assert killed.texts() == REDACTED
    with closing(killed.local()) as local:
        assert status.describe(local, 0.0)["records"] == {"total": 4, "bySource": {"brain": 1, "generic": 3}}
