"""The query log: one line a question, redacted, bounded, private; and reading it back."""

from __future__ import annotations

import json
import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from node.services import query_log
from node.services.query_log import LINE_BYTES_MAX, QUERY_CHARS_MAX, LoggedQuestion, Reading
from tests.retrieval.archive_kit import Indexed

NOW = datetime(2026, 3, 5, 23, 59, 30, tzinfo=UTC)
SECRET = "ghp_" + "aB3dE5" * 6


@pytest.fixture
def indexed(tmp_path) -> Indexed:
    made = Indexed(tmp_path)
    made.state.mkdir()
    return made


def question(query: str, at: datetime = NOW, **options) -> LoggedQuestion:
    options = {"evidence": [], "covered": 0.0, **options}
    return LoggedQuestion(
        query=query,
        asked_at=at,
        scope="[HOME]/p",
        lane="auto",
        warnings=["no_matches"],
        elapsed_ms=1.5,
        **options,
    )


def log(indexed: Indexed, *questions: LoggedQuestion) -> list[bool]:
    with indexed.opened() as local:
        return [query_log.log_question(local, item) for item in questions]


def lines(indexed: Indexed, day: str = "2026-03-05") -> list[dict[str, object]]:
    path = indexed.state / "synthesis" / "queries" / f"{day}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def read(indexed: Indexed, since: datetime = NOW - timedelta(days=30)) -> tuple[list[str], Reading]:
    reading = Reading()
    with indexed.opened() as local:
        return [item.query for item in query_log.read_questions(local.paths, since, reading)], reading


def test_a_line_says_what_was_asked_and_which_records_answered(indexed):
    shown = [{"record_id": "a" * 64, "score": 1.5, "lane": "words", "via": "history"}]
    assert log(indexed, question("where is it", evidence=shown, covered=0.5)) == [True]
    (line,) = lines(indexed)
    assert line == {
        "query": "where is it", "asked_at": "2026-03-05T23:59:30.000Z", "scope": "[HOME]/p", "lane": "auto",
        "evidence": shown, "covered": 0.5, "warnings": ["no_matches"], "elapsed_ms": 1.5,
        "served_by": "in_process",
    }  # fmt: skip


def test_a_day_is_a_file_of_its_own(indexed):
    log(indexed, question("one"), question("two", NOW + timedelta(minutes=1)))
    assert [line["query"] for line in lines(indexed)] == ["one"]
    assert [line["query"] for line in lines(indexed, "2026-03-06")] == ["two"]


def test_a_secret_and_the_home_are_not_logged(indexed):
    log(indexed, question(f"{'long ' * 390} {SECRET} in {indexed.home}/x"))
    written = (indexed.state / "synthesis" / "queries" / "2026-03-05.jsonl").read_text("utf-8")
    assert SECRET[:20] not in written
    assert str(indexed.home) not in written
    assert "[REDACTED:token]" in written


def test_a_question_is_cut_after_it_is_redacted(indexed):
    log(indexed, question("x" * (QUERY_CHARS_MAX - 10) + " " + SECRET + "y" * 100_000))
    (line,) = lines(indexed)
    assert len(str(line["query"])) == QUERY_CHARS_MAX
    assert "ghp_" not in str(line["query"])


def test_any_text_stays_one_line_of_utf_8(indexed):
    asked = ["two\nlines\r\u2028", "lone \ud800 surrogate", "nul \0", '"quoted" \\ 設定']
    log(indexed, *map(question, asked))
    assert [line["query"] for line in lines(indexed)] == [asked[0], "lone ? surrogate", asked[2], asked[3]]


def test_files_and_directories_are_private(indexed):
    log(indexed, question("x"))
    folder = indexed.state / "synthesis" / "queries"
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}
    assert (folder / "2026-03-05.jsonl").stat().st_mode & 0o777 == 0o600


def test_without_a_state_directory_nothing_is_made(tmp_path):
    absent = Indexed(tmp_path)
    assert log(absent, question("x")) == [False]
    assert not absent.state.exists()


@pytest.mark.parametrize("name", ["synthesis", "synthesis/queries", "synthesis/queries/2026-03-05.jsonl"])
def test_what_can_t_be_written_is_no_error(indexed, name):
    in_the_way = indexed.state / name
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".jsonl"):
        in_the_way.mkdir()
    else:
        in_the_way.write_text("a file where a directory belongs")
    assert log(indexed, question("x")) == [False]


def test_the_log_is_not_written_through_a_symbolic_link(indexed):
    victim = indexed.root / "victim"
    victim.write_text("")
    folder = indexed.state / "synthesis" / "queries"
    folder.mkdir(parents=True)
    (folder / "2026-03-05.jsonl").symlink_to(victim)
    assert log(indexed, question("x")) == [False]
    assert victim.read_text() == ""


def _log_many(root: str, who: int) -> None:
    log(Indexed(Path(root)), *(question(f"{who} asks {n} " + "x" * 1_500) for n in range(50)))


def test_processes_log_side_by_side(indexed):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_log_many, args=(str(indexed.root), who)) for who in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert sorted({str(line["query"])[:9].strip(" x") for line in lines(indexed)}) == sorted(
        f"{who} asks {n}" for who in range(3) for n in range(50)
    )


def test_questions_are_read_back_newest_day_first(indexed):
    log(
        indexed,
        question("old", NOW - timedelta(days=3)),
        question("one"),
        question("two"),
        question("older", NOW - timedelta(days=20)),
    )
    assert read(indexed)[0] == ["one", "two", "old", "older"]
    assert read(indexed, NOW - timedelta(days=5))[0] == ["one", "two", "old"]
    assert read(indexed, NOW + timedelta(seconds=1))[0] == []


def test_what_is_no_question_is_counted_and_passed_over(indexed):
    log(indexed, question("good"))
    path = indexed.state / "synthesis" / "queries" / "2026-03-05.jsonl"
    bad = [
        b"{",
        b"[]",
        b"3",
        b'{"query": 1}',
        b"\xff\xfe",
        b"[" * 3_000,
        b'{"query":"x","asked_at":"2026-03-05"}',
    ]
    huge = b'"' + b"x" * (2 * LINE_BYTES_MAX) + b'"'
    with path.open("ab") as file:
        file.write(b"\n".join([*bad, huge]) + b"\n")
    log(indexed, question("after"))
    with path.open("ab") as file:
        file.write(b'{"query":"half wri')
    found, reading = read(indexed)
    assert found == ["good", "after"]
    assert (reading.malformed, reading.is_cut) == (len(bad) + 1, False)


def test_reading_is_bounded(indexed, monkeypatch):
    log(indexed, *(question(f"q{n}") for n in range(20)), question("old", NOW - timedelta(days=1)))
    monkeypatch.setattr(query_log, "READ_BYTES_MAX", 1_000)
    found, reading = read(indexed)
    assert reading.is_cut
    assert 0 < len(found) < 20


def test_there_is_nothing_to_read_without_a_log(tmp_path):
    assert read(Indexed(tmp_path)) == ([], Reading())
