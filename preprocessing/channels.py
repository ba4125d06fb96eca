"""Choice of the ECG lead by its name, never by its position."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preprocessing.recording import UnreadableRecordingError

ECG_ALIASES = (
    "ECG", "EKG", "ECG1", "EKG1", "ECG 1", "EKG 1", "ECG I", "EKG I", "ECG-I", "ECG II", "EKG II",
    "ECG2", "EKG2", "ECG 2", "EKG 2", "MLII", "II", "I", "ECGL", "ECG L", "EKG L", "ECG-LA", "ECG0",
    "ECG EKG", "ECG-REF", "EKG-REF", "ECG1-REF", "ECG LEAD II", "ECG II-REF",
    "ECG LA-RA", "EKG LA-RA", "ECG V1", "ECG V2", "ECG V5", "ECG1-ECG2", "EKG1-EKG2", "ECG L-ECG R",
    "ECGL-ECGR", "V5", "V2", "V1",
)  # fmt: skip
"""Labels that polysomnographs and Holter recorders give to an ECG lead, the preferred first."""


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


def pick_channel(
    labels: Sequence[str], aliases: Sequence[str] = ECG_ALIASES
) -> tuple[int, str | None]:
    """Return the index of the lead whose label comes first in ``aliases``, and a note or None.

    Raises
    ------
    UnreadableRecordingError
        If no label is an alias; the message lists the labels.
    """
    names = [canonical(label) for label in labels]
    wanted = [canonical(alias) for alias in aliases]
    present = [alias for alias in wanted if alias in names]
    if not present:
        raise UnreadableRecordingError(
            f"no ECG channel: channels are {_shown_labels(labels)}; if one of them is the ECG, "
            "add its label to signal.channels"
        )
    index = names.index(present[0])
    candidates = [labels[i].strip() for i, name in enumerate(names) if name in present]
    if len(candidates) == 1:
        return index, None
    chosen = labels[index].strip()
    return index, f"{len(candidates)} ECG channels ({', '.join(candidates)}); read {chosen}"


def _shown_labels(labels: Sequence[str]) -> str:
    """Return the labels for a message; one with an unknown word is only counted."""
    distinct = {label.strip() for label in labels}
    shown = sorted(label for label in distinct if _is_plain(label))
    hidden = len(distinct) - len(shown)
    return ", ".join([*shown, *([f"{hidden} of unusual names"] if hidden else [])]) or "none"


def _is_plain(label: str) -> bool:
    words = re.findall(r"[^\W\d_]+\d?", label.upper())
    return all(word in _LABEL_WORDS or word.rstrip("0123456789") in _LABEL_WORDS for word in words)
