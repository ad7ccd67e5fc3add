"""What enters the index: words of people and agents, and nothing that says nothing.

Everything else is counted by reason, so that what is not in the index can be seen (ARCHIVE.md 4).
"""

from __future__ import annotations

import re

from crdt.events import Event

_ACKNOWLEDGEMENT_CHARS_MAX = 40
_WORDS = (
    "ok|okay|okey|k|yes|yep|yeah|yup|no|nope|nah|sure|thanks|thank you|thank you very much|thx|ty|great|good"
    "|perfect|nice|cool|done|right|fine|continue|go on|go ahead|go|proceed|next|please|please continue|lgtm"
    "|si|sí|vale|dale|adelante|gracias|muchas gracias|perfecto|listo|hecho|bien|muy bien|claro|sigue|continúa"
    "|continua|de acuerdo|genial|oui|non|merci|d'accord|parfait|vas-y|continuez|ja|nein|danke|weiter|gut"
    "|genau|passt|mach weiter|sim|não|nao|obrigado|obrigada|perfeito|continue por favor|sì|grazie|avanti"
    "|va bene|да|нет|спасибо|хорошо|продолжай|好|好的|谢谢|继续"
    "|はい|いいえ|ありがとう|続けて|네|아니요|감사합니다|계속"
)
_ACKNOWLEDGEMENT = re.compile(rf"\W*(?:{_WORDS})(?:\W+(?:{_WORDS}))*\W*", re.IGNORECASE)

REJECTED_EMPTY = "empty or acknowledgement"
REJECTED_WITHOUT_ID = "missing event id"
_SPEAKERS = ("user", "assistant")


def rejection(event: Event) -> str | None:
    """Tell why an event stays out of the index; None when it is admitted."""
    if event.kind != "message":
        return f"kind {event.kind}"
    if event.role not in _SPEAKERS:
        return f"role {event.role}"
    if event.id is None:
        return REJECTED_WITHOUT_ID
    text = event.text.strip()
    if not text or (len(text) <= _ACKNOWLEDGEMENT_CHARS_MAX and _ACKNOWLEDGEMENT.fullmatch(text)):
        return REJECTED_EMPTY
    return None
