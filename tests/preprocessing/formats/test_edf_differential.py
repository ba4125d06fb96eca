"""Our EDF reading beside mne's and pyedflib's, on every mutated file that all can read."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from preprocessing.formats.edf import read_edf_lead
from preprocessing.recording import UnreadableRecordingError
from tests.edf_files import beats, write_edf
from tests.torture.bad_files import _FIELDS, _edf_by_mne, _edf_by_pyedflib
from tests.torture.mutations import mutate_bytes, mutate_field

HEADER = 768


@pytest.mark.parametrize("seed", range(3))
def test_what_we_believe_is_what_others_read(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = write_edf(tmp_path / "a.edf", {"EEG": beats(20), "ECG": beats(20, seed=1)})
    data, compared = whole.read_bytes(), 0
    for number in range(60):
        mutated = (
            mutate_field(rng, data, _FIELDS)
            if number % 2
            else mutate_bytes(rng, data, start=0 if number % 4 else HEADER)
        )
        path = tmp_path / f"{number}.edf"
        path.write_bytes(mutated)
        try:
            raw = read_edf_lead(path)
        except UnreadableRecordingError:
            continue
        if raw.notes or raw.truncated:
            continue
        for read in (_edf_by_mne, _edf_by_pyedflib):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    other = read(path)
                except Exception:
                    continue
            np.testing.assert_allclose(raw.signal, other, rtol=1e-4, atol=1e-4)
            compared += 1
    assert compared > 20
