"""Choice of the ECG lead by its name, never by its position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from preprocessing.recording import UnreadableRecordingError

ECG_ALIASES = (
    "ECG", "EKG", "ECG1", "EKG1", "ECG 1", "EKG 1", "ECG I", "EKG I", "ECG-I", "ECG II", "EKG II",
    "ECG2", "EKG2", "ECG 2", "EKG 2", "MLII", "II", "I", "ECGL", "ECG L", "EKG L", "ECG-LA", "ECG0",
    "ECG EKG", "ECG-REF", "EKG-REF", "ECG1-REF", "ECG LEAD II", "ECG II-REF",
    "ECG LA-RA", "EKG LA-RA", "ECG V1", "ECG V2", "ECG V5", "ECG1-ECG2", "EKG1-EKG2", "ECG L-ECG R",
    "ECGL-ECGR", "V5", "V2", "V1",
)  # fmt: skip
"""Labels that polysomnographs and Holter recorders give to an ECG lead, the preferred first."""

ANY_ECG = "*ECG*"
"""Stands in a list of labels for any label that says ECG in its own way, such as ``EKG-R``."""

NO_CHANNEL = "no ECG channel"
"""How the reason starts if a recording is set aside because it has no ECG channel."""

LIST_CHANNELS = "deaps channels FILE"
"""The command in that reason; who knows the file puts its name there."""

MATCHING_VERSION = 2
"""Raise this when more labels are recognised: then what was set aside is looked at again."""

_ECG_WORDS = frozenset({"ECG", "EKG", "ECGL", "ECGR", "EKGL", "EKGR", "LEAD"})
_LEAD_NAMES = frozenset({
    "I", "II", "III", "AVF", "AVL", "AVR", "V1", "V2", "V3", "V4", "V5", "V6", "MLI", "MLII",
    "MLIII", "MV1", "MV2", "MV5", "MCL1", "CM5", "CM1", "CC5", "DI", "DII", "DIII",
})  # fmt: skip
_BESIDE_ECG = frozenset({
    "L", "R", "LA", "RA", "LL", "RL", "REF", "CHEST", "CH", "CHAN", "CHANNEL", "V", "LEFT", "RIGHT",
    "RAW", "MOD", "HOLTER", "BIPOLAR",
})  # fmt: skip
"""Words that may stand with ECG; with any other, such as HR or RESP, it is another signal."""

_SHOWN = 6
"""Labels that a reason names."""

_LABEL_WORDS = frozenset({
    "A", "ABD", "ABDO", "ABDOMEN", "ABDOMINAL", "ACC", "AF", "AIR", "AIRFLOW", "ANNOTATIONS",
    "ANT", "ANTERIOR", "ARM", "AUX", "AVF", "AVL", "AVR", "AX", "BODY", "BP", "BREATH", "C",
    "CANNULA", "CHAN", "CHANNEL", "CHEST", "CHIN", "CO2", "CPAP", "CZ", "DC", "DHR", "DIF", "DIFF",
    "E", "ECG", "ECGL", "ECGR", "EDF", "EEG", "EFFORT", "EKG", "EKGL", "EKGR", "EMG", "EOG",
    "EPMS", "ETCO2", "EVENT", "EVENTS", "F", "FLOW", "FP", "FPZ", "FZ", "G", "GND", "H", "HR", "I",
    "II", "III", "IMP", "L", "LA", "LAT", "LEAD", "LEFT", "LEG", "LEGS", "LIGHT", "LL", "LOC", "M",
    "MARKER", "MASK", "MIC", "ML", "MLII", "MLIII", "MV", "NAF", "NASAL", "NEW", "O", "ORAL", "OX",
    "OXIMETRY", "OXSTAT", "OZ", "P", "PATIENT", "PHASE", "PLETH", "PLM", "PNOT", "POS", "POSITION",
    "PPG", "PR", "PRES", "PRESS", "PRESSURE", "PTAF", "PULSE", "PZ", "R", "RA", "RAT", "REF",
    "RES", "RESP", "RIB", "RIBCAGE", "RIGHT", "RL", "ROC", "RR", "S", "SAO", "SAO2", "SNORE",
    "SOUND", "SPO", "SPO2", "STAT", "STATUS", "SUM", "T", "TEMP", "THERM", "THERMISTOR", "THOR",
    "THORACIC", "THORAX", "TIB", "TIBIA", "TIBIALIS", "TIME", "TRIG", "TRIGGER", "V", "VOLUME",
    "X", "XFLOW", "XSUM", "Y", "Z",
})  # fmt: skip
"""Words of channel labels that a message may show; any other may be a person's name."""


def canonical(label: str) -> str:
    """Return a label in capitals, without outer spaces and with single inner ones."""
    return " ".join(label.upper().split())


def printable_label(label: str) -> str:
    """Return a label without control characters, which could write anywhere on a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in label).strip()


def pick_channel(
    labels: Sequence[str], aliases: Sequence[str] = ECG_ALIASES
) -> tuple[int, str | None]:
    """Return the index of the lead whose label comes first in ``aliases``, and a note or None.

    Raises
    ------
    UnreadableRecordingError
        If no label is an alias; the message names the closest labels.
    """
    labels = [printable_label(label) for label in labels]
    names = [canonical(label) for label in labels]
    wanted = [name for alias in aliases for name in _expanded(alias, names)]
    present = [alias for alias in wanted if alias in names]
    if not present:
        raise UnreadableRecordingError(
            f"{NO_CHANNEL}: {_closest_labels(labels)}; {LIST_CHANNELS} lists them all; give the "
            "label of the ECG to signal.channels_add"
        )
    index = names.index(present[0])
    chosen = labels[index]
    if present[0] not in map(canonical, aliases):
        return index, f"ECG channel by the sound of its name: read {chosen}"
    candidates = [labels[i] for i, name in enumerate(names) if name in present]
    if len(candidates) == 1:
        return index, None
    return index, f"{len(candidates)} ECG channels ({', '.join(candidates)}); read {chosen}"


def _expanded(alias: str, names: Sequence[str]) -> list[str]:
    """Return an alias as a label is written; for `ANY_ECG` the labels that say ECG, II first."""
    if alias != ANY_ECG:
        return [canonical(alias)]
    return sorted(filter(sounds_like_ecg, names), key=lambda name: "II" not in _words(name))


def sounds_like_ecg(label: str) -> bool:
    """Return whether a label says ECG in its own way: ``EKG-R``, ``ECG EKG2-EKG``, ``Lead II``.

    Every word of it must belong to an ECG. So ``EEG`` never does, nor ``ECG HR``. What follows a
    comma may describe it in other words if it says ECG again: ``ECG, ECG recorded using bedside
    monitor, lead II`` is one, ``ECG, derived respiration`` is not.
    """
    name, _, description = canonical(label).partition(",")
    if description and not _ECG_WORDS & set(_words(description)):
        return False
    words = _words(name)
    says_ecg = any(word in _ECG_WORDS for word in words)
    is_lead = len(words) == 1 and words[0] in _LEAD_NAMES
    known = _ECG_WORDS | _LEAD_NAMES | _BESIDE_ECG
    return is_lead or (says_ecg and all(word in known or word.isdigit() for word in words))


def _words(name: str) -> list[str]:
    """Return the words of a label in capitals: V5 and the like are one, ECG2 is ECG and 2."""
    found = re.findall(r"M?V\d|MCL\d|C[MC]\d|[^\W\d_]+|\d+", name)
    return [str(word) for word in found]


def _closest_labels(labels: Sequence[str]) -> str:
    """Return the labels most like ECG for a message; one with an unknown word is only counted.

    Those are the ones that may be it, and may be a person's name.
    """
    distinct = set(labels)
    shown = sorted((label for label in distinct if _is_plain(label)), key=_distance_from_ecg)
    hidden, more = len(distinct) - len(shown), len(shown) - _SHOWN
    parts = shown[:_SHOWN] + ([f"{more} more"] if more > 0 else [])
    listed = f"{'closest' if more > 0 else 'channels'} are {', '.join(parts) or 'none'}"
    if not hidden:
        return listed
    unusual = "1 unusual label may be it" if hidden == 1 else f"{hidden} unusual labels may be it"
    return f"{unusual} and {'is' if hidden == 1 else 'are'} not shown; other {listed}"


def _distance_from_ecg(label: str) -> tuple[float, str]:
    name = canonical(label)
    likeness = max(SequenceMatcher(None, name, word).ratio() for word in ("ECG", "EKG"))
    return -likeness, label


def _is_plain(label: str) -> bool:
    words = re.findall(r"[^\W\d_]+\d?", label.upper())
    return all(word in _LABEL_WORDS or word.rstrip("0123456789") in _LABEL_WORDS for word in words)
