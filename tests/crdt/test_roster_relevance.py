"""What is left out before a roster is folded: all that a member piles up, and nothing with an effect."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as some

from crdt.entries import Entry
from crdt.roster import Alias, Label, Remove, Revoke, Roster, RosterOperation
from crdt.roster_fold import Fold
from crdt.roster_relevance import Reach
from tests.crdt.signers import Feed, SeedSigner, add, genesis

PEOPLE = [SeedSigner(name) for name in ("anna", "ben", "cara", "dora", "next", "later")]
person = some.sampled_from(PEOPLE)
cut = some.dictionaries(some.integers(1, 3), some.integers(0, 4), max_size=2)
promised = some.none() | person


@some.composite
def operation(draw: some.DrawFn) -> RosterOperation:
    member = draw(person)
    word = draw(some.sampled_from(["add", "add", "remove", "revoke", "label", "alias"]))
    match word:
        case "add":
            return add(member, owner=draw(some.booleans()), following=draw(promised))
        case "remove":
            return Remove(member=member.public_key, cut=draw(cut))
        case "revoke":
            return Revoke(old=member.public_key, cut=draw(cut))
        case "label":
            return Label(label=member.name)
    return Alias(own=b"s" * 32, into=b"t" * 32)


@some.composite
def told(draw: some.DrawFn) -> list[Entry]:
    """Tell the genesis of a space, and what several feeds say about it."""
    home = genesis(PEOPLE[0], following=draw(promised))
    feeds = {(signer, inc): Feed(signer, home.space, inc=inc) for signer in PEOPLE for inc in (2, 3)}
    moves = draw(some.lists(some.tuples(person, some.sampled_from([2, 3]), operation()), max_size=14))
    for moment, (signer, inc, said) in enumerate(moves):
        feeds[signer, inc].roster(said, hlc=home.entries[0].hlc + 1 + moment)
    return [*home.entries, *(entry for feed in feeds.values() for entry in feed.entries)]


def answers(roster: Roster) -> object:
    """Give all that a roster is asked."""
    places = [(one.public_key, inc, seq) for one in PEOPLE for inc in (2, 3) for seq in range(1, 6)]
    voids = [roster.is_void(*place) for place in places]
    said = [roster.said_by(one.public_key) for one in PEOPLE]
    return roster.members, roster.standings(), roster.label, roster.owner, roster.alias, voids, said


def plain(entries: list[Entry]) -> Roster:
    """Fold everything, with nothing left out."""
    with patch.object(Reach, "may_apply", lambda *_: True):
        return Roster.of(entries[0].hash, entries)


@given(told())
def test_a_roster_is_what_folding_everything_gives(entries: list[Entry]) -> None:
    assert answers(Roster.of(entries[0].hash, entries)) == answers(plain(entries))


@given(told(), some.randoms(use_true_random=False))
def test_a_roster_that_grows_is_what_folding_everything_gives(entries: list[Entry], chance: object) -> None:
    first, *rest = entries
    chance.shuffle(rest)  # type: ignore[attr-defined]
    roster = Roster.of(first.hash, [first])
    for entry in rest:
        roster = roster.extended([entry])
    assert answers(roster) == answers(plain(entries))


def test_what_a_plain_member_piles_up_is_never_folded() -> None:
    anna, ben, cara = PEOPLE[:3]
    home = genesis(anna)
    home.roster(add(ben))
    bens = Feed(ben, home.space, inc=2)
    for _ in range(20):
        bens.roster(add(cara, owner=True))
        bens.roster(Remove(member=anna.public_key, cut={}))
        bens.roster(Revoke(old=anna.public_key, cut={}))
    folded: list[bytes] = []
    with patch.object(Fold, "apply", lambda _self, entry, _operation: folded.append(entry.author)):
        roster = Roster.of(home.space, home.entries)
        folded.clear()
        roster = roster.extended(bens.entries)
        assert folded == []
        Roster.of(home.space, home.entries + bens.entries)
    assert set(folded) == {anna.public_key}
    assert [len(said) for said in roster.said_by(ben.public_key).values()] == [60]
