"""A newer redactor over an archive: what changes, what stays, what clock it keeps."""

from __future__ import annotations

from pathlib import Path

from archivist.reredact import redacted_again, reredact
from crdt.archive import decode_fragment
from tests.retrieval.archive_kit import Indexed, body


class Stub:
    """A redactor of version 7 that knows one word."""

    version = 7

    def redact(self, text: str) -> tuple[str, int]:
        """Take the word out."""
        return text.replace("heron", "[REDACTED:bird]"), text.count("heron")


def test_only_what_changes_is_made_again() -> None:
    fragment = decode_fragment(body("reed", ["a heron", "a reed"]).data)
    again, count = redacted_again(Stub(), fragment)
    assert again is not None
    assert [event.text for event in again.events] == ["a [REDACTED:bird]", "a reed"]
    assert (count, again.redactor_version) == (1, 7)
    assert again.redactions == {fragment.events[0].id: 1}
    assert redacted_again(Stub(), decode_fragment(body("reed", ["a reed"]).data))[1] == 0


def test_a_fragment_keeps_the_clock_of_its_first_manifest(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("reed", ["a heron"]))
    with indexed.opened(writable=True) as local:
        (first,) = local.archive.log.since(0)
        reredact(local.archive, Stub(), apply=True, on_progress=lambda _done, _total: None)
        live = local.archive.current()
        stored = [
            item
            for logged in local.archive.log.since(0)
            if getattr(logged.manifest, "sha256", "") in live
            for item, _ in local.archive.load(logged)
        ]
    assert [item.hlc for item in stored] == [first.hlc]


def test_a_dry_run_seals_and_writes_nothing(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("reed", ["a heron"]), seal=False)
    with indexed.opened(writable=True) as local:
        head = local.archive.log.head()
        report = reredact(local.archive, Stub(), apply=False, on_progress=lambda _done, _total: None)
        assert (report.changed, local.archive.log.head()) == (1, head)
        assert len(local.archive.log.tails()) == 1
