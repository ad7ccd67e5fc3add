"""The agents whose transcripts can be captured, each behind the same small seam.

An adapter knows where one agent keeps its transcripts, lists them as sources, and turns their message parts
into raw events.  It is no parser of meaning: it never guesses whose words something is, it never redacts,
and it writes nothing.  What it doesn't know it counts by name.

Seams: `base.Provider` is what capture sees.  `archivist.jsonl` reads any transcript that is lines of JSON,
`track.Track` keeps what one file's events share, `walk` lists files.  A new agent is one module here and
one line in `PROVIDERS`.

Invariants:
- the same bytes give the same events with the same raw ids, however a growing file was cut into runs;
- a raw id is the agent's own id for the record, or follows from type, time and place, never from text;
- symbolic links are never followed below a root, and nothing but regular files is opened;
- a cursor holds no text of anybody's.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import cast

from archivist.providers.base import (
    Cursor,
    Increment,
    Provider,
    RawEvent,
    Session,
    Source,
    SourceUnreadable,
)
from archivist.providers.identity import unnamed_raw_id

__all__ = [
    "PROVIDERS",
    "Cursor",
    "Increment",
    "Provider",
    "RawEvent",
    "Session",
    "Source",
    "SourceUnreadable",
    "unnamed_raw_id",
]

_MODULES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "opencode": "opencode",
    "generic": "generic",
}


class _Providers(Mapping[str, Provider]):
    """Adapters by name; a module is imported when its adapter is first asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Provider] = {}

    def __getitem__(self, name: str) -> Provider:
        if name not in self._loaded:
            module = importlib.import_module(f"archivist.providers.{_MODULES[name]}")
            self._loaded[name] = cast("Provider", module.PROVIDER)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


PROVIDERS: Mapping[str, Provider] = _Providers()
"""Every adapter by the name that `--provider` takes, in the order in which capture reads them."""
