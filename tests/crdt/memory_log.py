"""A manifest log in memory, the second implementation of the seam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crdt.clock import HybridClock
from crdt.manifests import Logged, Manifest, Segment, Tail, Wanted
from crdt.segments import Body


class MemoryLog:
    """Keeps manifests in a list; durable as long as the process."""

    def __init__(self, clock: HybridClock | None = None) -> None:
        self._clock = clock or HybridClock()
        self._logged: list[Logged] = []
        self._waiting: dict[bytes, tuple[int, bytes]] = {}

    def append(self, manifests: Sequence[Manifest], tails: Sequence[Body] = ()) -> list[Logged]:
        """Add manifests and waiting fragments, all or nothing."""
        first = self.head() + 1
        logged = [
            Logged(seq=first + place, hlc=self._clock.tick(), manifest=manifest)
            for place, manifest in enumerate(manifests)
        ]
        stamps = {
            sha256: item.hlc
            for item in logged
            if isinstance(item.manifest, Tail)
            for sha256 in item.manifest.fragments
        }
        fresh = {sha: (stamps[sha], body.data) for body in tails for sha in [bytes.fromhex(body.sha256)]}
        for item in logged:
            if isinstance(item.manifest, Segment):
                for sha256, _ in item.manifest.fragments:
                    self._waiting.pop(sha256, None)
        self._logged += logged
        for sha256, row in fresh.items():
            self._waiting.setdefault(sha256, row)
        return logged

    def since(self, seq: int) -> Iterator[Logged]:
        """Walk the log after a place."""
        return iter([item for item in self._logged if item.seq > seq])

    def head(self) -> int:
        """Tell the place of the newest manifest."""
        return self._logged[-1].seq if self._logged else 0

    def tail_body(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a waiting fragment."""
        found = self._waiting.get(fragment)
        return found[1] if found else None

    def tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments, oldest first."""
        return [(sha256, hlc, len(data)) for sha256, (hlc, data) in self._waiting.items()]

    def own_tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments, all of which are this node's."""
        return self.tails()

    def wanted(self) -> Wanted:
        """Want nothing: every manifest is this node's."""
        return Wanted()

    def lacking(self) -> set[int]:
        """Lack nothing."""
        return set()

    def take_fragment(self, body: Body) -> bool:
        """Take nothing that nobody wants."""
        return body.sha256 == "wanted"

    def take_segment(self, segment: str, fragments: Sequence[bytes]) -> None:
        """Want nothing."""

    def forget_fragments(self, fragments: Sequence[bytes]) -> None:
        """Want nothing."""

    def fold(self) -> None:
        """Keep nothing of what was dropped."""

    def close(self) -> None:
        """Hold nothing open."""
