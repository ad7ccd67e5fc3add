"""What identity and spaces are asked: which of it changes the state, and that no passphrase is shown."""

from __future__ import annotations

import msgspec
import pytest

from node.services.catalog import USE_CASES
from node.services.space_requests import IdentityBackup, IdentityRestore, IdentityRevoke

PASSPHRASE = "a long enough passphrase"


@pytest.mark.parametrize(
    "request_of",
    [
        IdentityBackup(path="/x", passphrase=PASSPHRASE),
        IdentityRestore(path="/x", passphrase=PASSPHRASE),
        IdentityRevoke(source="/x", passphrase=PASSPHRASE),
    ],
)
def test_a_request_does_not_show_its_passphrase(request_of: IdentityBackup) -> None:
    assert PASSPHRASE not in f"{request_of} {request_of!r} {[request_of]}"
    sent = msgspec.json.encode(request_of)
    assert msgspec.json.decode(sent, type=type(request_of)) == request_of


def test_a_request_that_can_not_be_read_is_refused_without_its_passphrase() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"path": 1, "passphrase": PASSPHRASE}, IdentityBackup)
    assert PASSPHRASE not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "arguments", "writes"),
    [
        ("identity", {}, False),
        ("identity.backup", {"path": "/x"}, False),
        ("identity.backup", {"path": "/x", "take_next": True}, True),
        ("identity.restore", {"path": "/x"}, True),
        ("identity.revoke", {}, False),
        ("identity.revoke", {"apply": True}, True),
        ("spaces", {}, False),
        ("spaces.members", {"space": "home"}, False),
        ("spaces.private", {}, False),
        ("spaces.create", {"label": "team"}, True),
        ("projects.list", {}, False),
        ("projects.show", {"label": "tidewatch"}, False),
        ("projects.create", {"label": "tidewatch"}, True),
    ],
)
def test_only_what_changes_the_state_opens_it_for_writing(
    name: str, arguments: dict[str, object], writes: bool
) -> None:
    case = USE_CASES[name]
    assert case.needs_to_write(msgspec.convert(arguments, case.request)) is writes
