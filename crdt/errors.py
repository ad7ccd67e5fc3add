"""The error tree of the whole application.

Each error says what is wrong in its text and what mends it in `hint`, a command or one sentence.
The edges map once: REST to problem+json by `http_status`, the command to `exit_status` and two lines.

    AtriumError                internal             500  1
    ├── BadInput               bad_input            400  2   what was given can't be used
    │   ├── ArchiveRefused     archive_refused      422  2   an archive file fails its manifest or format
    │   ├── EntryRefused       entry_refused        422  2   bytes that are no truly signed entry
    │   ├── NotAllowed         not_allowed          403  2   the space's roster gives no right to it
    │   ├── Changed            changed              409  2   somebody else changed it in the meantime
    │   ├── NotFound           not_found            404  2   no such record, conversation, file or project
    │   └── SettingsInvalid    settings_invalid     400  2   config.toml or a flag names something unknown
    ├── NothingPending         nothing_pending      404  3   no such pending thing
    ├── Cancelled              cancelled            499  130  whoever asked has gone (node)
    ├── Unavailable            unavailable          503  1   can't answer now
    │   ├── IndexUnavailable   index_unavailable    503  1   no index, or one of another version
    │   │   └── OlderVersion   older_version        503  1   a state that the next writer brings up
    │   ├── BlobAbsent         blob_absent          503  1   bytes of another node that have not come yet
    │   ├── ReadOnlyState      read_only            507  1   the state directory can't be written
    │   ├── DiskFull           disk_full            507  1   no space left for what was to be written
    │   ├── SourceUnreadable   source_unreadable    503  1   transcripts that can't be read (archivist)
    │   └── NodeUnreachable    node_unreachable     503  1   a node should run and does not answer
    ├── Damaged                damaged              500  1   stored bytes fail their hash or their format
    └── StateBusy              state_busy           423  75  another process holds the state directory
"""

from __future__ import annotations

from typing import ClassVar


class AtriumError(Exception):
    """The root: anything that the application itself reports."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500
    exit_status: ClassVar[int] = 1
    default_hint: ClassVar[str] = "run `atrium doctor` to see what is wrong"

    def __init__(self, detail: str, *, hint: str | None = None) -> None:
        """Keep the sentence for people and the command that mends it."""
        super().__init__(detail)
        self.detail = detail
        self.hint = self.default_hint if hint is None else hint


class BadInput(AtriumError):
    """What was given can't be used."""

    code, http_status, exit_status = "bad_input", 400, 2
    default_hint = "see `atrium --help`"


class ArchiveRefused(BadInput):
    """An archive file fails its own manifest, or a line of it is malformed; nothing of it was taken."""

    code, http_status = "archive_refused", 422
    default_hint = "export the archive again on the machine it came from"


class EntryRefused(BadInput):
    """Bytes that are no well-formed, truly signed entry; nothing of them was taken."""

    code, http_status = "entry_refused", 422
    default_hint = "whoever made these bytes is faulty or malicious; ask for them again"


class NotAllowed(BadInput):
    """The roster of the space does not give the right to do this."""

    code, http_status = "not_allowed", 403
    default_hint = "run `atrium spaces` to see what this node may do where"


class Changed(BadInput):
    """What was to be changed is no longer as the asker saw it."""

    code, http_status = "changed", 409
    default_hint = "read it again and repeat the change"


class NotFound(BadInput):
    """No such record, conversation, file or project."""

    code, http_status = "not_found", 404
    default_hint = "run `atrium search` to find what there is"


class SettingsInvalid(BadInput):
    """A setting is unknown or has a value that can't be used."""

    code, http_status = "settings_invalid", 400
    default_hint = "correct config.toml in the state directory"


class NothingPending(AtriumError):
    """No such pending thing."""

    code, http_status, exit_status = "nothing_pending", 404, 3
    default_hint = "nothing to do"


class Unavailable(AtriumError):
    """The answer can't be given now; asking again later may help."""

    code, http_status, exit_status = "unavailable", 503, 1
    default_hint = "try again, or run `atrium doctor`"


class IndexUnavailable(Unavailable):
    """There is no index, or one of another version."""

    code = "index_unavailable"
    default_hint = "run `atrium capture` to fill it, or `atrium rebuild` to make it anew"


class OlderVersion(IndexUnavailable):
    """The archive was made by an older program, and no writer of this one has opened it yet."""

    code = "older_version"
    default_hint = "nothing is lost: `atrium up` or `atrium capture` brings it to this version"


class BlobAbsent(Unavailable):
    """Another node's manifest names bytes that have not come here yet."""

    code = "blob_absent"
    default_hint = "they come when a node that has them is linked, or by `atrium feeds import FILE`"


class ReadOnlyState(Unavailable):
    """The state directory can't be written."""

    code, http_status = "read_only", 507
    default_hint = "make the state directory writable, or name another with ATRIUM_STATE"


class DiskFull(Unavailable):
    """No space is left for what was to be written; nothing was half-written."""

    code, http_status = "disk_full", 507
    default_hint = "free some space and run the same command again"


class NodeUnreachable(Unavailable):
    """A node should run on this state directory and does not answer."""

    code = "node_unreachable"
    default_hint = "run `atrium up`"


class Damaged(AtriumError):
    """Stored bytes fail their hash or their format."""

    code, http_status, exit_status = "damaged", 500, 1
    default_hint = "run `atrium doctor --deep`"


class Cancelled(AtriumError):
    """Whoever asked is gone or pressed Ctrl-C; what was finished until then is kept."""

    code, http_status, exit_status = "cancelled", 499, 130
    default_hint = "run the same command again, it goes on where it stopped"


class StateBusy(AtriumError):
    """Another process holds the state directory."""

    code, http_status, exit_status = "state_busy", 423, 75
    default_hint = "wait for it to end, or use the running node"
