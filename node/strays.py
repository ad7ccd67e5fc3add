"""Remove what killed writers left: temporary files, and an index that a rebuild did not finish.

Only for who holds the right to write: all of these are made under the state's lock, so whoever made one that
is still there is dead.  Documents in `status/` are published without it and swept by who publishes.
"""

from __future__ import annotations

from node.paths import StatePaths, write_error


def sweep_strays(paths: StatePaths) -> int:
    """Remove them and return how many there were; raises what `write_error` says where that fails."""
    places = (
        (paths.root, f"{paths.last_refresh.name}.new-*"),
        (paths.root, f"{paths.identity.name}.new-*"),
        (paths.root, f"{paths.incarnation.name}.new-*"),
        (paths.derived, "*.new-*"),
        (paths.derived, "rebuild-*"),
        (paths.segments, "??/.tmp-*"),
        (paths.queries, "*.new-*"),
        (paths.records_mirror, "*.new-*"),
    )
    strays = [path for folder, pattern in places for path in folder.glob(pattern)]
    for path in strays:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise write_error(error, path) from error
    return len(strays)
