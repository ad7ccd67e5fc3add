"""Check of this node's key: is it there, usable, and the one that signed what is here."""

from __future__ import annotations

from crdt.errors import AtriumError
from node.checks import Check, Look, Severity
from node.succession import own_keys

NAME = "identity"
RESTORE = "`atrium identity restore FILE` puts it back from a backup"


def check_identity(look: Look) -> Check | None:
    """See whether the key can be used; a state directory on which nothing was written needs none."""
    from mesh.identity import load

    owners = own_keys(look.local)
    try:
        key = load(look.paths.identity).public_key
    except FileNotFoundError:
        if not owners:
            return None
        hint = f"the key that signed what is here is missing; {RESTORE}, else the next write begins a new one"
        return Check(name=NAME, code="identity_missing", severity=Severity.WARN, hint=hint)
    except AtriumError:
        hint = f"nothing can be written: identity.key is damaged, or open to others; {RESTORE}"
        return Check(name=NAME, code="identity_unusable", severity=Severity.BROKEN, hint=hint)
    if owners <= {key}:
        return Check(name=NAME, code="identity_ok")
    hint = f"what another key of this node wrote here stays readable; in a fresh directory {RESTORE}"
    return Check(name=NAME, code="identity_new", severity=Severity.WARN, hint=hint)
