"""The invented conversations and notes that `sample` writes: a service that watches tides for a harbour.

Nobody said any of this.  The conversations hang together as a team's would: a decision in one is carried
out in another, by another agent, and doubted in a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

SECRET = "{secret}"  # noqa: S105 - the place where a made-up one goes


@dataclass(frozen=True, slots=True)
class Said:
    """One thing in a conversation; `who` is person, agent, thought or tool, `result` is a tool's."""

    who: str
    text: str
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One conversation.  `minute` counts from the start of the story; `aside` is a subagent's part in it."""

    agent: str
    project: str
    minute: int
    summary: str
    said: tuple[Said, ...]
    aside: tuple[Said, ...]


def talks() -> list[Talk]:
    """Read the story."""
    return [_talk(block) for block in STORY.strip().split("\n\n")]


def _talk(block: str) -> Talk:
    head, _, body = block.partition("\n")
    _, agent, project, minute, *summary = head.split(" ", 4)
    said, _, aside = body.partition("\n-- aside\n")
    return Talk(
        agent=agent,
        project=project,
        minute=int(minute),
        summary="".join(summary),
        said=tuple(_said(said)),
        aside=tuple(_said(aside)),
    )


def _said(text: str) -> Iterator[Said]:
    """Read lines `who: text`; indented ones go on with it, and with a bar they are a tool's result."""
    for one in text.replace("\n    | ", "\0").replace("\n    ", " ").splitlines():
        spoken, *result = one.split("\0")
        who, _, words = spoken.partition(": ")
        yield Said(who, words, "\n".join(result))


STORY = """
== claude tidewatch 0 Why flood alarms were sent three times
person: The harbour master got the same flood alarm three times last night. Why?
thought: Three alarms, one event. Either three readings crossed, or one was sent three times.
tool: grep -n 'send_alarm' -r tidewatch
    | alarms.py:41: send_alarm(reading)
    | retry.py:18: send_alarm(reading)
agent: One reading crossed the threshold. The gateway answered after 31 seconds, our client gives up
    after 30, and the retry sends the alarm again. Nothing tells the gateway that it is the same
    alarm.
person: Then let's make sending safe to repeat. What do you suggest?
agent: Decision: every alarm gets an idempotency key, the station's name and the minute of the
    reading. The gateway drops a key that it has seen within 24 hours. A longer time-out alone would
    only hide it.
-- aside
person: Read retry.py and list every place where an alarm can be sent twice.
tool: cat tidewatch/retry.py
    | def retry(send, reading, times=3): ...
agent: Two places: the retry after a time-out, and the replay of the outbox after a restart.

== codex tidewatch 95
person: Implement the idempotency key for alarms: station and minute of the reading.
thought: The key must be built before the first attempt and kept in the outbox.
tool: pytest -q tests/test_alarms.py
    | 7 passed in 0.41s
agent: Done. The key is built in alarms.py before the first attempt and stored in the outbox row, so
    a replay after a restart sends the same one. Tests cover the time-out and the restart.

== claude tidewatch 1500
person: The nightly import fails with 'database is locked' since Tuesday.
tool: lsof data/readings.db
    | python 811 importer
    | python 902 dashboard
agent: The dashboard keeps a read transaction open while a page is being rendered, and the importer
    waits only one second. I set the busy timeout to five seconds and turned on write-ahead logging,
    so that readers no longer stop the writer.
person: Good. Write down why, we will forget.
agent: It is in notes/decisions.md under 'Write-ahead logging'.

== claude tidewatch 3020
person: Las mareas del domingo salen con una hora de diferencia. ¿Puede ser el cambio de horario?
thought: Sunday is the switch to summer time. Look for naive local times.
tool: grep -n 'fromtimestamp' -r tidewatch
    | tables.py:12: datetime.fromtimestamp(row.at)
agent: Sí. La tabla de mareas se calcula en hora local y el cambio de horario la desplaza una hora.
    Guardamos todo en UTC y convertimos a la zona de la estación solo al mostrarlo.
person: Perfecto, hazlo así y añade una prueba con la noche del cambio.
agent: Hecho: la prueba recorre las 25 horas del último domingo de octubre y las 23 del de marzo.

== claude tidewatch 4400
person: The deploy can't push the image. This is the token it uses: {secret}
agent: That token lacks the right to write packages, so the push is refused. Please revoke it, since
    it is now in this conversation, and give the deploy job one that can write packages and nothing
    else.
person: Revoked. The new one is in the secret store, the deploy works.

== codex tidewatch-web 5100
person: The tide chart takes four seconds to appear on a phone. Find out why.
tool: npm run profile
    | parse 210 ms
    | layout 3310 ms
    | paint 95 ms
agent: The chart draws one element for each of 8,640 readings. I reduce them to one per pixel before
    drawing, keeping the highest and the lowest of each pixel, so that peaks stay visible. 180 ms
    now.

== claude tidewatch-web 5900
person: Should the page poll for new readings or keep a connection open?
thought: Readings come every six minutes. A connection buys little.
agent: Poll. A reading comes every six minutes, so a poll a minute is at most one minute late,
    survives every proxy and needs no state on the server. Server-sent events are worth it once
    alarms appear on the page.
person: Agreed. Revisit when alarms come to the page.

== claude tidewatch 7300
person: Add a station for the north pier. Its sensor reports in feet.
tool: sed -n 1,40p tidewatch/stations.toml
    | [station.south]
    | unit = "m"
agent: Stations now name their unit, and readings are converted to metres when they arrive. A
    station without a unit is an error at start, since a wrong guess would silence a flood alarm.

== codex tidewatch 8650
person: Why do we keep raw readings for two years? The disk is filling up.
agent: The harbour's insurance asks for two years, see notes/decisions.md. Raw readings compress to
    a twelfth, so I propose monthly compressed files after 30 days instead of deleting anything.
person: Do that.
tool: python -m tidewatch.compact --dry-run
    | would compact 23 months, 41 GB to 3.4 GB
agent: The compaction runs monthly. It reads each file back before it removes the originals.

== claude tidewatch 10020
person: Two alarms again tonight, although we have the idempotency key. Look at the log.
tool: grep alarm log/tonight.log
    | 23:59:58 key=south/23:59
    | 00:00:02 key=south/00:00
agent: Not the same bug: the water stayed above the threshold over midnight, and the two readings
    fell into two minutes. The key did what it should. What is missing is a quiet time after an
    alarm; I suggest 30 minutes.
person: Take 20, floods move fast here.
agent: Set to 20 minutes per station, and noted beside the decision about the key.

== claude tidewatch-web 11400
person: Write the release note for version 2.
agent: Version 2: alarms are sent once, tide tables are right on the nights when the clock changes,
    the chart appears in a fifth of a second on a phone, and the north pier has joined.
"""

NOTES: dict[str, str] = {
    "tidewatch/notes/decisions.md": """# Decisions

## One alarm for one event

Every alarm carries an idempotency key, the station and the minute of the reading. See [[alarms]].
After an alarm a station is quiet for 20 minutes.

## Write-ahead logging

Readers no longer stop the nightly import. The busy timeout is five seconds.

## Two years of raw readings

The harbour's insurance asks for them. After 30 days they are kept compressed.
""",
    "tidewatch/notes/alarms.md": """---
tags: [operations]
---
# Alarms

## When one is sent

A reading above the station's threshold, unless the station is quiet. See [[decisions]].

## When one fails

It stays in the outbox and goes out with the same key as before.
""",
    "tidewatch/notes/mareas.md": """# Tablas de mareas

## Horas

Todo se guarda en UTC. La conversión a la hora de la estación se hace solo al mostrar la tabla.
""",
}
