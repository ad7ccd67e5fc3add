"""The words that say what an entry of shared memory is, for whoever offers them without the rules."""

from __future__ import annotations

KINDS = ("memory", "doc", "directive", "skill", "compiled")
SCOPES = ("project", "agent")
