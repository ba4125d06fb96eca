"""Headers that name other files, and headers of formats beside EDF that are not true."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import mne
import numpy as np
import pytest

from preprocessing.formats.edf import read_edf_lead
from preprocessing.formats.mne_formats import read_mne_lead
from preprocessing.formats.wfdb_record import read_wfdb_lead
from preprocessing.plausibility import UNKNOWN_UNIT
from preprocessing.recording import UnreadableRecordingError
from tests.edf_files import beats, patch, write_edf
from tests.flows.inline import ask, one, run, settings_for, todo
from tests.preprocessing.datasets.test_folder import write_bdf, write_brainvision
from tests.wfdb_files import write_record

ONE_SIGNAL = "r 1 250 1000\n{} 16 200 16 0 0 0 0 II\n"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (ONE_SIGNAL.format("x" * 300), "cannot be read: File name too long"),
        ("r/2 1 250 2000\nsub/s1 1000\nsub/s2 1000\n", "segments: the name of one has a folder"),
        ("r/1 1 250 1000\n../s1 1000\n", "segments: the name of one has a folder"),
    ],
)
def test_a_header_with_an_impossible_name_is_set_aside_alone(
    tmp_path: Path, header: str, reason: str
) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(40)})
    (tmp_path / "data" / "r.hea").write_text(header)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    status = dict(ask(settings, "SELECT name, status FROM recordings"))
    assert status == {"a.edf": "ok", "r.hea": "quarantined"}
    assert reason in one(settings, "SELECT reason FROM recordings WHERE name = 'r.hea'")


def test_a_file_outside_the_folder_is_not_even_hashed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_edf(data / "a.edf", {"ECG": beats(40)})
    (tmp_path / "secret").write_text("of somebody else")
    (data / "above.hea").write_text(ONE_SIGNAL.format("../secret"))
    (data / "absolute.hea").write_text(ONE_SIGNAL.format("/etc/hostname"))
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    paths = {path for (path,) in ask(settings, "SELECT path FROM sources")}
    assert paths == {"a.edf", "above.hea", "absolute.hea"}


def test_a_segment_that_is_cut_leaves_the_next_one_at_its_time(tmp_path: Path) -> None:
    signal = beats(60, 250)
    write_record(tmp_path, "s1", {"II": signal[:7500]}, fs=250, fmt="16")
    write_record(tmp_path, "s2", {"II": signal[7500:]}, fs=250, fmt="16")
    (tmp_path / "r.hea").write_text("r/2 1 250 15000\ns1 7500\ns2 7500\n")
    whole = read_wfdb_lead(tmp_path / "r.hea").signal
    first = tmp_path / "s1.dat"
    first.write_bytes(first.read_bytes()[:8000])
    cut = read_wfdb_lead(tmp_path / "r.hea")
    assert cut.truncated
    np.testing.assert_array_equal(cut.signal[:4000], whole[:4000])
    assert np.isnan(cut.signal[4000:7500]).all()
    np.testing.assert_array_equal(cut.signal[7500:], whole[7500:])


def test_segments_that_are_not_as_long_as_their_record_are_noted(tmp_path: Path) -> None:
    write_record(tmp_path, "s1", {"II": beats(30, 250)}, fs=250, fmt="16")
    (tmp_path / "r.hea").write_text("r/2 1 250 8000\ns1 7500\n~ 5000\n")
    notes = read_wfdb_lead(tmp_path / "r.hea").notes
    assert "segments: they have 12,500 samples, the header says 8,000" in notes
    (tmp_path / "r.hea").write_text("r/2 1 250 8000\ns1 7500\n~ 500\n")
    assert read_wfdb_lead(tmp_path / "r.hea").notes == ()


def test_brainvision_samples_of_another_name_are_a_source(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_brainvision(data, "a", beats(30, 250))
    (data / "a.vhdr").rename(data / "renamed.vhdr")
    settings = settings_for(tmp_path / "store", folder=data)
    first = run(settings)
    assert set(ask(settings, "SELECT path, role FROM sources")) == {
        ("renamed.vhdr", "signal"),
        ("a.eeg", "signal"),
        ("a.vmrk", "annotation"),
    }
    (data / "a.eeg").write_bytes((beats(30, 250, seed=1) * 1e3).astype("<f4").tobytes())
    assert run(settings).snapshot_id != first.snapshot_id


@pytest.mark.parametrize("name", ["../a.eeg", "/etc/hostname"])
def test_brainvision_samples_outside_the_folder_are_not_read(tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_brainvision(data, "a", beats(30, 250))
    (data / "a.eeg").rename(tmp_path / "a.eeg")
    header = (data / "a.vhdr").read_text(encoding="utf-8")
    (data / "a.vhdr").write_text(header.replace("DataFile=a.eeg", f"DataFile={name}"), "utf-8")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    assert "outside its own folder" in one(settings, "SELECT reason FROM recordings")
    assert one(settings, "SELECT path FROM sources") == "a.vhdr"


def test_unit_that_is_no_voltage_is_noted_in_brainvision(tmp_path: Path) -> None:
    write_brainvision(tmp_path, "a", beats(30, 250) * 1e-3)
    header = (tmp_path / "a.vhdr").read_text(encoding="utf-8")
    (tmp_path / "a.vhdr").write_text(header.replace("µV", "furlong"), "utf-8")
    raw = read_mne_lead(tmp_path / "a.vhdr")
    assert UNKNOWN_UNIT in raw.notes
    np.testing.assert_allclose(raw.signal, beats(30, 250), atol=1e-3)


def test_no_part_of_a_split_fif_is_read_twice(tmp_path: Path) -> None:
    info = mne.create_info(["ECG"], 250, "ecg")
    signal = np.tile(beats(60, 250), 30)
    raw = mne.io.RawArray(signal[None] * 1e-3, info, verbose="ERROR")
    raw.save(tmp_path / "a_raw.fif", split_size="2MB", verbose="ERROR")
    parts = sorted(tmp_path.glob("*.fif"))
    assert [part.name for part in parts] == ["a_raw-1.fif", "a_raw.fif"]
    with pytest.raises(UnreadableRecordingError, match="it goes on in other files"):
        read_mne_lead(tmp_path / "a_raw.fif")
    assert read_mne_lead(tmp_path / "a_raw-1.fif").signal.size < signal.size


def test_a_fif_that_is_cut_is_refused_or_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a_raw.fif"
    info = mne.create_info(["ECG"], 250, "ecg")
    raw = mne.io.RawArray(beats(60, 250)[None] * 1e-3, info, verbose="ERROR")
    raw.save(path, buffer_size_sec=1, verbose="ERROR")
    assert not read_mne_lead(path).truncated
    whole = path.read_bytes()
    n_read = 0
    for n_bytes in range(len(whole) // 2, len(whole), 331):
        path.write_bytes(whole[:n_bytes])
        with suppress(UnreadableRecordingError):
            assert read_mne_lead(path).truncated
            n_read += 1
    assert n_read


def bdf(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_bdf(folder / "a.bdf", beats(30, 256))
    return folder / "a.bdf"


@pytest.mark.parametrize(
    ("field", "text", "reason"),
    [
        (slice(184, 192), "768", "where the samples start is unknown"),
        (slice(360, 368), "8000", "physical minimum = maximum"),
        (slice(376, 384), "nan", "a digital limit is not a number"),
        (slice(376, 384), "8388608", "digital range"),
    ],
)
def test_bdf_with_an_untrue_header_is_quarantined(
    tmp_path: Path, field: slice, text: str, reason: str
) -> None:
    patch(bdf(tmp_path / "data"), field, text)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    assert reason in one(settings, "SELECT reason FROM recordings")


def test_bdf_that_is_cut_says_so(tmp_path: Path) -> None:
    path = bdf(tmp_path)
    path.write_bytes(path.read_bytes()[: 512 + 3 * 256 * 12 + 100])
    raw = read_edf_lead(path)
    assert raw.truncated
    np.testing.assert_allclose(raw.signal, beats(30, 256)[: 256 * 12], atol=1e-3)


def test_bdf_of_an_unknown_unit_says_so(tmp_path: Path) -> None:
    path = patch(bdf(tmp_path), slice(352, 360), "furlong")
    assert UNKNOWN_UNIT in read_edf_lead(path).notes


def test_bdf_is_read_as_mne_reads_it(tmp_path: Path) -> None:
    path = bdf(tmp_path)
    (volts,) = mne.io.read_raw_bdf(path, verbose="ERROR").get_data()
    np.testing.assert_allclose(read_edf_lead(path).signal, volts * 1e3, atol=1e-6)


def test_a_header_that_names_anothers_signal_is_its_duplicate(tmp_path: Path) -> None:
    """Subject 101 must not get the signal of 100 under the name of 101.dat."""
    data = tmp_path / "mitdb"
    for record, seed in (("100", 1), ("101", 2)):
        write_record(data, record, {"MLII": beats(30, 360, seed=seed)})
    header = data / "101.hea"
    header.write_text(header.read_text().replace("101.dat", "100.dat"))
    settings = settings_for(tmp_path / "store", mitdb=data)
    run(settings)
    rows = ask(settings, "SELECT name, status::VARCHAR, reason FROM recordings ORDER BY name")
    assert rows == [("100", "ok", None), ("101", "quarantined", "duplicate of 100")]
    sources = ask(settings, "SELECT path FROM sources WHERE recording_id = 2 ORDER BY path")
    assert [path for (path,) in sources] == ["100.dat", "101.hea"]
    os.utime(data / "100.dat", ns=(10**18, 10**18))
    assert set(todo(settings)) == {"100", "101"}


def test_one_signal_in_two_formats_is_a_duplicate(tmp_path: Path) -> None:
    """A copy with another header, or in another container, is still one recording."""
    data = tmp_path / "own"
    signal = np.round(beats(60, 125) * 200) / 200
    write_record(data, "a", {"II": signal}, fs=125)
    write_record(data, "b", {"II": signal}, fs=125, fmt="16")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    rows = ask(settings, "SELECT name, reason FROM recordings ORDER BY name")
    assert rows == [("a.hea", None), ("b.hea", "duplicate of a.hea")]
