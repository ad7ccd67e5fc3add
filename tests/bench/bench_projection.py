"""Print what the projection costs: made anew, followed, looked up, listed, digested.

Run it as `python -m tests.bench.bench_projection [RECORDS]`, 100,000 without.  The feeds are real and signed;
the texts are made up, about 350 bytes each, one record in five was changed once.  The floor is the time in
which plain SQLite takes in the same states.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from crdt.chains import vouched
from crdt.clock import wall_ms
from crdt.entries import Draft, Entry, EntryKind, parse
from crdt.incarnation import Authorship
from crdt.operations import NONCE_BYTES, Operation, decode, encode, minted
from crdt.projection import Projector
from crdt.projection_filters import Order, RecordFilter
from crdt.projection_reader import ProjectionReader, open_reader_of_projection
from crdt.roster import encode as encode_roster
from crdt.sqlite import open_writer, transaction
from crdt.store import FeedStore, open_store
from tests.bench.corpus import apart, row, title
from tests.crdt.signers import Feed, SeedSigner, add

RECORDS = 100_000
FOREIGN = 10_000
GROUP = 2_000
ROUNDS = 50
SINGLE_WRITES = 100
WORDS = tuple(f"word{number}" for number in range(4_000))
QUESTION_MS_MAX = 3_000.0
REBUILD_S_MAX = 60.0
REBUILD_MB_MAX = 350.0
FOREIGN_S_MAX = 5.0


def paths(folder: Path) -> tuple[Path, Path]:
    """Name the feeds and the projection of a state directory."""
    return folder / "canonical" / "feeds.db", folder / "derived" / "projection.db"


@contextmanager
def writing(folder: Path) -> Iterator[FeedStore]:
    """Open the feeds as their node."""
    marker = Authorship(marker=folder / "incarnation", name="bench")
    store = open_store(paths(folder)[0], writable=True, signer=SeedSigner("bench"), authorship=marker)
    with closing(store):
        yield store


@contextmanager
def projecting(folder: Path, *, writable: bool = True) -> Iterator[tuple[FeedStore, Projector]]:
    """Open the feeds with the projection that follows them."""
    feeds, projection = paths(folder)
    opened = writing(folder) if writable else closing(open_store(feeds, writable=False))
    with opened as store, closing(Projector(projection, store)) as projector:
        yield store, projector


def operation(author: bytes, number: int, chance: random.Random) -> Operation:
    """Make up the creation of a memory."""
    nonce = hashlib.sha256(author + number.to_bytes(8, "big")).digest()[:NONCE_BYTES]
    return Operation(
        id=minted(author, nonce),
        type="memory",
        agent=f"agent-{number % 12}",
        set={
            "kind": "doc" if number % 40 == 0 else "memory",
            "project": f"project-{min(int(chance.expovariate(0.3)), 30)}",
            "workspace": f"/home/me/project-{number % 23}",
            "confidence": round(chance.random(), 2),
        },
        tag=[f"tag-{number % 97}", f"kind-{number % 5}"],
        text=" ".join(chance.choices(WORDS, k=40)),
        nonce=nonce,
    )


def fill(folder: Path, records: int) -> int:
    """Write the records, and one change to every fifth; return how many entries that made."""
    chance = random.Random(1)  # noqa: S311
    author = SeedSigner("bench").public_key
    with writing(folder) as store:
        home = store.home()
        for start in range(0, records, GROUP):
            numbers = range(start, min(start + GROUP, records))
            drafts = [
                Draft(space=home, kind=EntryKind.RECORD, body=encode(operation(author, number, chance)))
                for number in numbers
            ]
            changed = store.write(drafts)[::5]
            store.write([_change(item.entry) for item in changed])
        return store.head()


def _change(entry: Entry) -> Draft:
    created = decode(entry.body or b"")
    said = Operation(
        id=created.id, type=created.type, set={"confidence": 0.9}, text="changed", base=[entry.hash]
    )
    return Draft(space=entry.space, kind=EntryKind.RECORD, body=encode(said))


def rebuild(folder: Path) -> int:
    """Make the projection from nothing; return how many operations it had."""
    with projecting(folder, writable=False) as (_, projector):
        return projector.catch_up()


def floor(folder: Path) -> int:
    """Insert the same states into plain SQLite, 500 a transaction."""
    with closing(sqlite3.connect(paths(folder)[1])) as source:
        rows = source.execute("SELECT r.id, t.state FROM records r JOIN states t ON t.row = r.row").fetchall()
    with closing(open_writer(folder / "floor.db", durable=False)) as plain:
        plain.execute("CREATE TABLE states (id TEXT PRIMARY KEY, state BLOB NOT NULL)")
        for start in range(0, len(rows), 500):
            with transaction(plain):
                plain.executemany("INSERT INTO states VALUES (?, ?)", rows[start : start + 500])
    return len(rows)


def say_foreign(folder: Path, count: int) -> list[bytes]:
    """Word another member's entries: half of them create, half of them change what this node has."""
    chance = random.Random(2)  # noqa: S311
    other = SeedSigner("other")
    with writing(folder) as store:
        space = store.home()
        store.write([Draft(space=space, kind=EntryKind.ROSTER, body=encode_roster(add(other)))])
        walk = store.entries(0, (EntryKind.RECORD,))
        known = [item.entry for item in islice((item for item in walk if created(item.entry)), count // 2)]
    feed = Feed(other, space, inc=7, start_ms=wall_ms())
    for number, entry in enumerate(known):
        feed.say(EntryKind.RECORD, encode(operation(other.public_key, number, chance)))
        feed.say(EntryKind.RECORD, _change(entry).body)
    return [entry.raw for entry in feed.entries]


def created(entry: Entry) -> bool:
    """Tell whether an entry creates a record."""
    return decode(entry.body or b"").nonce is not None


@dataclass(frozen=True, slots=True)
class Spent:
    """Wall and CPU seconds."""

    wall_s: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.wall_s:.2f} s, {self.cpu_s:.2f} CPU-s"


def spent(work: Callable[[], object]) -> Spent:
    """Measure a piece of work."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def receive(folder: Path, raws: list[bytes]) -> tuple[Spent, Spent]:
    """Take foreign entries in, then reduce them."""
    with projecting(folder) as (store, projector):
        projector.catch_up()
        return spent(lambda: store.receive(raws)), spent(projector.catch_up)


def vouch(raws: list[bytes]) -> int:
    """Parse entries and verify what vouches for them, as nobody can do without; return how many are good."""
    return len(vouched([parse(raw) for raw in raws]))


def see(folder: Path) -> list[float]:
    """Write records one by one; return the milliseconds from each acknowledgement until it can be read."""
    chance = random.Random(3)  # noqa: S311
    author = SeedSigner("bench").public_key
    waits_ms = []
    with projecting(folder) as (store, projector):
        projector.catch_up()
        for number in range(SINGLE_WRITES):
            said = operation(author, 10**9 + number, chance)
            store.write([Draft(space=store.home(), kind=EntryKind.RECORD, body=encode(said))])
            began_s = time.perf_counter()
            projector.catch_up()
            with closing(open_reader_of_projection(paths(folder)[1], store)) as reader:
                reader.get(said.id)
            waits_ms.append((time.perf_counter() - began_s) * 1000)
    return waits_ms


def read(folder: Path) -> dict[str, float]:
    """Ask a reader many times; return the median milliseconds of each question."""
    feeds, projection = paths(folder)
    store = open_store(feeds, writable=False)
    with closing(store), closing(open_reader_of_projection(projection, store)) as reader:
        return {name: _median_ms(ask) for name, ask in _questions(reader).items()}


def _questions(reader: ProjectionReader) -> dict[str, Callable[[], object]]:
    some = reader.list_records(RecordFilter(types=("memory",))).records[7].id
    now_ms = wall_ms()

    def listed(order: Order = Order.NEWEST, **wanted: object) -> Callable[[], object]:
        chosen = RecordFilter(types=("memory",), **wanted)  # type: ignore[arg-type]
        return lambda: reader.list_records(chosen, order=order)

    return {
        "one by its id": lambda: reader.get(some),
        "one by 8 characters": lambda: reader.get(some[:8]),
        "50 newest": listed(),
        "50 of a project": listed(projects=("project-3",)),
        "50 of a rare project": listed(projects=("project-29",)),
        "50 of three projects": listed(projects=("project-1", "project-5", None)),
        "50 of a kind": listed(kinds=("doc",)),
        "50 of a tag": listed(tags=("tag-5",)),
        "50 of two tags": listed(tags=("tag-5", "kind-2")),
        "50 of an agent, a project": listed(agents=("agent-5",), projects=("project-2",)),
        "50 confident ones": listed(confidence_min=0.95, as_of_ms=now_ms),
        "none at all": listed(agents=("nobody",)),
        "50 with every filter": listed(
            kinds=("memory",), tags=("kind-2",), agents=("agent-2", "agent-7"), projects=("project-1",),
            confidence_min=0.3, as_of_ms=now_ms, updated_before_ms=now_ms, created_before_ms=now_ms,
        ),
        "50 in order of commit": listed(Order.COMMITTED, projects=("project-3",)),
        "500 changes": lambda: reader.changes(1_000, 500),
        "history of one": lambda: reader.history(reader.get(some)),
        "counts": reader.counts,
        "digest": reader.digest,
    }  # fmt: skip


def _median_ms(ask: Callable[[], object]) -> float:
    took_ms = []
    for _ in range(ROUNDS):
        began_s = time.perf_counter()
        ask()
        took_ms.append((time.perf_counter() - began_s) * 1000)
        if sum(took_ms) > QUESTION_MS_MAX:
            break
    return statistics.median(took_ms)


def main() -> None:
    """Print the table for so many records."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else RECORDS
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        title(f"projection of {records} records")
        row("write and sign", apart(fill, folder, records))
        made = apart(rebuild, folder)
        row(f"made from {made.value} operations", made, _judged(made.cpu_s, REBUILD_S_MAX, "CPU-s"))
        row("    memory", None, _judged(made.rss_mb, REBUILD_MB_MAX, "MB"))
        row("    floor: plain inserts", apart(floor, folder))
        raws = apart(say_foreign, folder, FOREIGN).value
        received, reduced = apart(receive, folder, raws).value
        print(f"{len(raws)} foreign entries: taken in {received}; reduced {reduced}")
        checked = apart(vouch, raws)
        assert checked.value == len(raws)
        row("    floor: parse, verify", checked)
        row("    both", None, _judged(received.cpu_s + reduced.cpu_s, FOREIGN_S_MAX, "CPU-s"))
        waits_ms = sorted(apart(see, folder).value)
        print(
            f"from acknowledged to read: p50 {waits_ms[len(waits_ms) // 2]:.2f} ms, p99 {waits_ms[-2]:.2f} ms"
        )
        for question, median_ms in apart(read, folder).value.items():
            print(f"    {question:30} {median_ms:8.2f} ms")


def _judged(figure: float, most: float, unit: str) -> str:
    return f"{figure:.1f} {unit} of {most:.0f} {unit}{'' if figure <= most else ': TOO MUCH'}"


if __name__ == "__main__":
    main()
