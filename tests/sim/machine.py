"""One node: a disk, a clock that is wrong, and while it runs the real store and projection over that disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from crdt import migrations
from crdt.clock import AHEAD_MS_MAX, milliseconds_of
from crdt.entries import Draft
from crdt.errors import NotAllowed, NotFound, Unavailable
from crdt.feed_commit import Received
from crdt.feed_tables import Committed, FeedTables
from crdt.incarnation import Authorship, OwnFeeds
from crdt.keys import Signer, commitment
from crdt.projection import Projector
from crdt.projection_follow import Follower
from crdt.projection_reader import ProjectionReader, RecordView
from crdt.store import FeedStore
from crdt.store_writing import Writing
from tests.crdt.signers import SeedSigner
from tests.sim.disk import Disk, Image, MemoryConnection, blank_projection, opened
from tests.sim.failures import Violation
from tests.sim.writer import Moment, PowerFailure, StepWriter

CHANGES_MAX = 1_000


def heir_of(name: str) -> SeedSigner:
    """Give the key that a node promised to be followed by."""
    return SeedSigner(f"{name}, the next")


class Clock:
    """The machine's wall clock: true time, shifted, and read off in whole grains."""

    def __init__(self, true_ms: Callable[[], int]) -> None:
        self._true_ms = true_ms
        self.skew_ms = 0
        self.grain_ms = 1

    def now_ms(self) -> int:
        """Read the clock."""
        shown = self._true_ms() + self.skew_ms
        return shown - shown % self.grain_ms


class MemoryProjector(Projector):
    """The real projector over a database in memory."""

    def __init__(self, disk: Disk, feeds: FeedStore) -> None:
        super().__init__(Path(disk.identity.name), feeds)
        self._image: bytes = disk.projection

    @property
    def connection(self) -> MemoryConnection:
        """Give the connection, for reading beside."""
        connection = self._opened().connection
        if not isinstance(connection, MemoryConnection):
            raise TypeError(connection)
        return connection

    def _opened(self) -> Follower:
        if self._follower is None:
            self._follower = Follower(opened(self._image), self._feeds)
        return self._follower

    def _close(self) -> None:
        self._follower, self._image = None, blank_projection()


class Running:
    """What a machine has in memory."""

    def __init__(self, disk: Disk, signer: Signer, authorship: Authorship) -> None:
        self.connection = opened(disk.feeds)
        migrations.migrate(self.connection, migrations.Founder(signer, authorship))
        last_hlc = FeedTables(self.connection).last_hlc()
        own = OwnFeeds(signer, authorship, disk.identity, last_hlc)
        self.writer = StepWriter(self.connection)
        self.store = FeedStore(disk.identity, self.connection, Writing(self.writer, own))
        self.projector = MemoryProjector(disk, self.store)

    def save(self, disk: Disk) -> None:
        """Leave on the disk what is durable."""
        disk.feeds = self.connection.committed()
        disk.projection = self.projector.connection.committed()


class Machine:
    """A node that can be switched on and off; `acknowledged` is told what it confirmed to its users."""

    def __init__(
        self,
        name: str,
        signer: SeedSigner,
        disk: Disk,
        clock: Clock,
        acknowledged: Callable[[Machine, Sequence[Committed]], None],
    ) -> None:
        self.name, self.signer, self.disk, self.clock = name, signer, disk, clock
        self.keys = {signer.public_key}
        self._acknowledged = acknowledged
        self._running: Running | None = None
        self.errors: list[BaseException] = []

    @property
    def key(self) -> bytes:
        """The node's public key."""
        return self.signer.public_key

    @property
    def is_on(self) -> bool:
        """Tell whether it runs."""
        return self._running is not None

    @property
    def running(self) -> Running:
        """What it has in memory; it must be on."""
        if self._running is None:
            raise AssertionError(f"{self.name} is off")
        return self._running

    @property
    def store(self) -> FeedStore:
        """The store of a machine that is on."""
        return self.running.store

    def start(self) -> None:
        """Switch on, from what is on the disk."""
        authorship = Authorship(
            marker=self.disk.marker,
            name=self.name,
            next_commitment=commitment(heir_of(self.signer.name).public_key),
            now_ms=self.clock.now_ms,
        )
        self._running = Running(self.disk, self.signer, authorship)

    def stop(self) -> None:
        """Stop cleanly: what was queued is committed, and the marker is left."""
        running = self.running
        # A failure that nothing came to is over.
        running.writer.failure = None
        running.writer.step()
        running.projector.catch_up()
        running.save(self.disk)
        running.store.close()
        self._running = None

    def fail(self) -> None:
        """Lose power: all that is not committed is gone."""
        self.running.save(self.disk)
        self._running = None

    def succeed(self) -> None:
        """Take the promised key in place of the present one, from the next start on."""
        if self._running is not None:
            raise AssertionError(f"{self.name} is on")
        self.signer = heir_of(self.signer.name)
        self.keys.add(self.key)

    def image(self) -> Image:
        """Copy the disk as it is."""
        if self._running is not None:
            self._running.save(self.disk)
        return self.disk.image()

    def say(self, drafts: Sequence[Draft]) -> None:
        """Queue a write; what it comes to is acknowledged at some later step."""
        self.store.submit(drafts).add_done_callback(self._settled)

    def commit(self, failure: Moment | None = None) -> None:
        """Commit what is queued; with a failure, the machine is off afterwards."""
        self.running.writer.failure = failure
        try:
            self.running.writer.step()
        except PowerFailure:
            self.fail()
        if self.errors:
            raise self.errors[0]

    def receive(self, raws: Sequence[bytes], failure: Moment | None = None) -> Received | None:
        """Take entries of others; None where power failed on the way."""
        self.running.writer.failure = failure
        try:
            received = self.store.receive(raws)
        except PowerFailure:
            self.fail()
            return None
        self._watch(received)
        return received

    def retry(self) -> None:
        """Take what waited for its moment."""
        self._watch(self.store.retry())

    def views(self) -> list[RecordView]:
        """Bring the projection level and give all records."""
        self.running.projector.catch_up()
        reader = self.reader()
        rows = [change.row for change in reader.changes(0, CHANGES_MAX) if not change.is_gone]
        return sorted(reader.views(rows), key=lambda view: (view.space, view.id))

    def reader(self) -> ProjectionReader:
        """Read the projection as it is."""
        return ProjectionReader(self.running.projector.connection, self.store)

    def hashes(self) -> set[bytes]:
        """Give the hashes of all that is durable, whether it is on or off."""
        connection = self._running.connection if self._running is not None else opened(self.disk.feeds)
        return {row[0] for row in connection.execute("SELECT hash FROM entries")}

    def _settled(self, done: Future[list[Committed]]) -> None:
        error = done.exception()
        if error is None:
            self._acknowledged(self, done.result())
        elif not isinstance(error, NotAllowed | NotFound | Unavailable):
            # Callbacks may not raise; `commit` does.
            self.errors.append(error)

    def _watch(self, received: Received) -> None:
        """Check that it was time to take it, and begin anew after own entries came from elsewhere."""
        limit_ms = self.clock.now_ms() + AHEAD_MS_MAX
        for item in received.committed:
            if milliseconds_of(item.entry.hlc) > limit_ms:
                raise Violation("nothing is taken before its time", f"{item.entry.hash.hex()[:12]}")
        if any(item.entry.author == self.key for item in received.committed):
            self.store.renew()
