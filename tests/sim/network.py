"""A network that loses, repeats, delays and damages what is sent, and falls apart for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

MESSAGES_MAX = 400
"""On the way at once; more are lost, as with a full buffer."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes on their way."""

    sender: str
    receiver: str
    data: bytes


@dataclass(slots=True, kw_only=True)
class Network:
    """Messages on their way, and who can't reach whom; the rates are probabilities."""

    random: Random
    loss: float
    repetition: float
    damage: float
    _sent: list[Sent] = field(default_factory=list)
    _side: set[str] = field(default_factory=set)

    def send(self, sender: str, receiver: str, data: bytes) -> None:
        """Put a message on its way."""
        if len(self._sent) < MESSAGES_MAX:
            self._sent.append(Sent(sender, receiver, data))

    def part(self, side: Sequence[str]) -> None:
        """Cut these machines off from the others; nobody heals it."""
        self._side = set(side)

    def next(self) -> Sent | None:
        """Let some message arrive, any of those on their way, perhaps not for the last time."""
        if not self._sent:
            return None
        at = self.random.randrange(len(self._sent))
        sent = self._sent[at]
        if self.random.random() >= self.repetition:
            self._sent[at] = self._sent[-1]
            self._sent.pop()
        is_cut = (sent.sender in self._side) != (sent.receiver in self._side)
        if is_cut or self.random.random() < self.loss:
            return None
        if self.random.random() < self.damage:
            return Sent(sent.sender, sent.receiver, flipped(sent.data, self.random))
        return sent

    def clear(self) -> None:
        """Lose everything that is on its way."""
        self._sent.clear()


def flipped(data: bytes, random: Random) -> bytes:
    """Turn one bit over."""
    changed = bytearray(data)
    changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)
