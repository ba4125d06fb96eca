"""The words of scorers: how each kind of file names stages and events."""

from __future__ import annotations

import re

from storage.schema import EventKind, OldStage, Stage

OLD_STAGE_CODES = {
    "0": OldStage.WAKE,
    "1": OldStage.S1,
    "2": OldStage.S2,
    "3": OldStage.S3,
    "4": OldStage.S4,
    "5": OldStage.REM,
    "6": OldStage.MOVEMENT,
    "9": OldStage.UNSCORED,
}
"""Codes of NSRR's and Profusion's stages."""

_STAGE_WORDS: dict[str, Stage | OldStage] = {
    "w": Stage.WAKE, "wake": Stage.WAKE, "awake": Stage.WAKE,
    "n1": Stage.N1, "n2": Stage.N2, "n3": Stage.N3, "r": Stage.REM, "rem": Stage.REM,
    "1": OldStage.S1, "2": OldStage.S2, "3": OldStage.S3, "4": OldStage.S4,
    "s1": OldStage.S1, "s2": OldStage.S2, "s3": OldStage.S3, "s4": OldStage.S4,
    "m": Stage.MOVEMENT, "mt": Stage.MOVEMENT, "movement": Stage.MOVEMENT,
    "movement time": Stage.MOVEMENT,
    "?": Stage.UNSCORED, "unscored": Stage.UNSCORED, "unknown": Stage.UNSCORED,
}  # fmt: skip
"""What stands alone or after "sleep stage" in an EDF+ annotation or a table."""

_EVENT_WORDS: tuple[tuple[str, EventKind], ...] = (
    (r"spo2 artifact|sao2 artifact|artifact", EventKind.ARTIFACT),
    (r"desat", EventKind.DESATURATION),
    (r"respiratory effort related|\brera\b", EventKind.EFFORT_AROUSAL),
    (r"central (sleep )?apn(o)?ea", EventKind.CENTRAL_APNEA),
    (r"mixed (sleep )?apn(o)?ea", EventKind.MIXED_APNEA),
    (r"hypopn(o)?ea", EventKind.HYPOPNEA),
    (r"apn(o)?ea", EventKind.OBSTRUCTIVE_APNEA),
    (r"arousal", EventKind.AROUSAL),
    (r"periodic breathing|cheyne", EventKind.PERIODIC_BREATHING),
    (r"\bplm|limb|leg movement|\blm\b", EventKind.LIMB_MOVEMENT),
)
"""In this order: "obstructive apnea" and a plain "apnea" are what the other apneas left over."""

_PREFIX = re.compile(r"^(sleep[ _]?stage|stage)[ _:]*")
_OWN_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")


def stage_of(text: str) -> Stage | OldStage | None:
    """Return the stage that a text names, such as "Sleep stage N2", "W" or "REM"; else None."""
    word = _PREFIX.sub("", text.strip().lower()).removesuffix(" sleep").strip()
    return _STAGE_WORDS.get(word)


def kind_of(text: str) -> EventKind:
    """Return the kind of event that a text names; `EventKind.OTHER` if it names none."""
    lowered = text.lower().replace("_", " ")
    for pattern, kind in _EVENT_WORDS:
        if re.search(pattern, lowered):
            return kind
    return EventKind.OTHER


def own_kind_of(text: str) -> str:
    """Return the kind of event in a table of one's own: also a plain word that nobody else uses.

    A text that is no plain word counts as other, because free text may name people.
    """
    kind = kind_of(text)
    word = text.strip().lower().replace(" ", "_")
    return word if kind is EventKind.OTHER and _OWN_KIND.fullmatch(word) else str(kind)
