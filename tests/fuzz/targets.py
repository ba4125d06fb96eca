"""What is fuzzed: each target reads bytes, and may only raise errors of ours in words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from preprocessing.formats.edf import parse_edf_header
from preprocessing.formats.scoring_xml import read_nsrr_xml, read_profusion_xml
from preprocessing.formats.wfdb_annotations import read_annotation_texts
from preprocessing.formats.wfdb_header import read_wfdb_header
from storage.errors import DeapsError

CORPUS = Path(__file__).parent / "corpus"


def _edf(data: bytes) -> None:
    header = parse_edf_header(data)
    assert header.header_bytes <= len(data)
    assert len(header.labels) == len(header.samples) == len(header.physical)


def _from_file(read: Callable[[Path], object], name: str) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            read(path)

    return target


def _wfdb(path: Path) -> None:
    header = read_wfdb_header(path)
    assert header.fs > 0
    for signal in header.signals:
        gain, *_ = signal.calibration()
        assert gain != 0


def _annotations(path: Path) -> None:
    texts = read_annotation_texts(path, 250.0)
    assert all(sample >= 0 for sample, _ in texts)
    assert sum(len(text) for _, text in texts) <= path.stat().st_size


TARGETS: dict[str, Callable[[bytes], None]] = {
    "edf": _edf,
    "wfdb": _from_file(_wfdb, "r.hea"),
    "annotations": _from_file(_annotations, "r.atr"),
    "nsrr": _from_file(read_nsrr_xml, "n.xml"),
    "profusion": _from_file(read_profusion_xml, "p.xml"),
}


def attempt(name: str, data: bytes) -> None:
    """Read ``data`` with a target; errors of ours are answers, any other is a fault."""
    with suppress(DeapsError):
        TARGETS[name](data)
