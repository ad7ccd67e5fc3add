"""What identity, spaces and projects are asked.

A space is named by its label or by the beginning of its id, a node by what `atrium identity show` prints.
"""

from __future__ import annotations

from node.services.requests import Request


class IdentityRequest(Request, frozen=True, kw_only=True):
    """This node's identity."""


class _Sealed(Request, frozen=True, kw_only=True):
    """A request that may carry a passphrase, which no message of an error and no log shows."""

    passphrase: str | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class IdentityBackup(_Sealed, frozen=True, kw_only=True):
    """A file to write both keys to; `take_next` leaves only the promise of the next one here."""

    path: str
    take_next: bool = False

    @property
    def is_dry_run(self) -> bool:
        """Tell whether the state directory stays as it is."""
        return not self.take_next


class IdentityRestore(_Sealed, frozen=True, kw_only=True):
    """A backup to take the key from; `leave_next` leaves the next one in it."""

    path: str
    leave_next: bool = False


class IdentityRevoke(_Sealed, frozen=True, kw_only=True):
    """Put the promised key in the present one's place; `source` is a backup that has it.

    A dry run unless `apply`.
    """

    source: str | None = None
    apply: bool = False

    @property
    def is_dry_run(self) -> bool:
        """Tell whether it only asks what would be done."""
        return not self.apply


class SpacesRequest(Request, frozen=True, kw_only=True):
    """All spaces."""


class SpaceCreate(Request, frozen=True, kw_only=True):
    """The label of a new space."""

    label: str


class SpaceMembers(Request, frozen=True, kw_only=True):
    """The members of a space."""

    space: str


class MemberAdd(Request, frozen=True, kw_only=True):
    """A node to make a member; without `rights` it gets those that are usual in that space."""

    space: str
    key: str
    rights: tuple[str, ...] = ()
    name: str | None = None


class MemberRemove(Request, frozen=True, kw_only=True):
    """A member to remove; `key` may also be its name in the space."""

    space: str
    key: str


class PrivateRequest(Request, frozen=True, kw_only=True):
    """What is in the private space, newest first."""

    limit: int = 20


class ProjectCreate(Request, frozen=True, kw_only=True):
    """A project; `is_open` of None is closed for a new one and leaves another as it is."""

    label: str
    is_open: bool | None = None
    space: str | None = None
    agent: str = "local"


class ProjectsRequest(Request, frozen=True, kw_only=True):
    """All projects, or those of one space."""

    space: str | None = None


class ProjectShow(Request, frozen=True, kw_only=True):
    """One project."""

    label: str
    space: str | None = None


class ProjectMembers(Request, frozen=True, kw_only=True):
    """Members, `agent@node`, to add to a project or to remove from it."""

    label: str
    members: tuple[str, ...]
    space: str | None = None
    agent: str = "local"
