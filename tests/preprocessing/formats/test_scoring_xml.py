"""NSRR's and Profusion's XML: what is read, and what is refused."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from sleepecg.io.sleep_readers import SleepStage, _parse_nsrr_xml

from preprocessing.config import SynthSettings
from preprocessing.formats.scoring_xml import XmlError, read_nsrr_xml, read_profusion_xml
from preprocessing.scoring import to_scoring
from preprocessing.synth.shhs_nights import Visit, nsrr_xml, sleep_of
from storage.schema import Stage
from tests.preprocessing.scoring.made_scorings import nsrr, profusion, written

BOMB = (
    '<!DOCTYPE PSGAnnotation [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)
FOREIGN = '<!DOCTYPE PSGAnnotation [<!ENTITY secret SYSTEM "file:///etc/hostname">]>'
REMOTE = '<!DOCTYPE PSGAnnotation SYSTEM "http://127.0.0.1:9/scoring.dtd">'


def test_nsrr_has_stages_with_3_and_4_joined_and_kept_apart(tmp_path: Path) -> None:
    draft = read_nsrr_xml(written(tmp_path, nsrr()))
    assert [tuple(map(str, span)) for span in draft.merged_stages()] == [
        ("0.0", "60.0", "W", "W"),
        ("60.0", "60.0", "N2", "S2"),
        ("120.0", "60.0", "N3", "S4"),
    ]


def test_nsrr_has_events_with_start_and_length(tmp_path: Path) -> None:
    draft = read_nsrr_xml(written(tmp_path, nsrr()))
    assert draft.events == [
        (61.5, 14.0, "obstructive_apnea", None),
        (75.0, 20.0, "desaturation", None),
        (75.5, 5.0, "arousal", None),
    ]


def test_profusion_says_the_same_in_its_own_words(tmp_path: Path) -> None:
    ours = read_profusion_xml(written(tmp_path, profusion()))
    theirs = read_nsrr_xml(written(tmp_path, nsrr(), "other.xml"))
    assert (ours.merged_stages(), ours.events) == (theirs.merged_stages(), theirs.events)


def test_both_have_how_far_a_desaturation_falls(tmp_path: Path) -> None:
    event = "<SpO2Nadir>91</SpO2Nadir><SpO2Baseline>95.5</SpO2Baseline>"
    ours = nsrr().replace("<Start>75</Start>", f"<Start>75</Start>{event}")
    theirs = profusion().replace(
        "<Start>75</Start>", "<LowestSpO2>91</LowestSpO2><Desaturation>4.5</Desaturation>"
        "<Start>75</Start>",
    )  # fmt: skip
    for draft in (
        read_nsrr_xml(written(tmp_path, ours)),
        read_profusion_xml(written(tmp_path, theirs)),
    ):
        assert [event.drop for event in draft.events] == [None, 4.5, None]
        assert to_scoring(draft).event_drop[1] == 4.5


def test_stages_are_those_of_sleepecg(tmp_path: Path) -> None:
    settings = SynthSettings(shhs_hours=2.0)
    night = sleep_of(settings, Visit(200003, 1))
    path = written(tmp_path, nsrr_xml(night, 7200.0))
    oracle = _parse_nsrr_xml(path)
    names = {
        SleepStage.WAKE: Stage.WAKE,
        SleepStage.N1: Stage.N1,
        SleepStage.N2: Stage.N2,
        SleepStage.N3: Stage.N3,
        SleepStage.REM: Stage.REM,
    }
    expected = [names[SleepStage(code)] for code in oracle.sleep_stages]
    spans = read_nsrr_xml(path).merged_stages()
    epochs = [span.stage for span in spans for _ in range(round(span.duration_s / 30))]
    assert epochs == expected
    assert len(set(epochs)) == 5


@pytest.mark.parametrize("head", [BOMB, FOREIGN, REMOTE], ids=["bomb", "file", "address"])
def test_a_document_type_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(XmlError, match="document type or an entity"):
        read_nsrr_xml(written(tmp_path, nsrr(head=head)))


@pytest.mark.parametrize(
    "text",
    [
        nsrr()[:400],
        "",
        "no XML at all",
        nsrr(head='<?xml version="1.0" encoding="UTF-8"?><!-- caf\xe9 -->').encode("latin-1"),
        nsrr(head='<?xml version="1.0" encoding="klingon"?>'),
    ],
    ids=["truncated", "empty", "text", "another encoding", "unknown encoding"],
)
def test_what_is_no_whole_xml_is_refused_without_a_quote(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(XmlError, match="not whole XML") as refused:
        read_nsrr_xml(written(tmp_path, text))
    assert "at all" not in str(refused.value)


def test_a_declared_encoding_is_understood(tmp_path: Path) -> None:
    text = nsrr(head='<?xml version="1.0" encoding="UTF-16"?>').encode("utf-16")
    assert len(read_nsrr_xml(written(tmp_path, text)).stages) == 3


def test_each_format_refuses_the_other(tmp_path: Path) -> None:
    with pytest.raises(XmlError, match="root element is not PSGAnnotation"):
        read_nsrr_xml(written(tmp_path, profusion()))
    with pytest.raises(XmlError, match="root element is not CMPStudyConfig"):
        read_profusion_xml(written(tmp_path, nsrr()))


@pytest.mark.parametrize("epoch_s", ["0", "-30", "nan", "soon", "1e9"])
def test_an_impossible_epoch_is_refused(tmp_path: Path, epoch_s: str) -> None:
    with pytest.raises(XmlError, match="epoch length"):
        read_profusion_xml(written(tmp_path, profusion(epoch_s=epoch_s)))


def test_unknown_stages_and_events_without_times_are_counted(tmp_path: Path) -> None:
    stages = (("Wake|0", 0, 30), ("Dream|7", 30, 30))
    events = (("Respiratory|Respiratory", "Hypopnea|Hypopnea", "soon", 5),)
    draft = read_nsrr_xml(written(tmp_path, nsrr(stages, events)))  # type: ignore[arg-type]
    assert draft.notes == [
        "1 stages of an unknown code: left out",
        "1 events without start or duration: left out",
    ]
    assert len(read_profusion_xml(written(tmp_path, profusion((0, "x", 2)))).stages) == 2


def test_a_huge_file_is_streamed(tmp_path: Path) -> None:
    filler = "<ScoredEvent><Note>" + "x" * 50 + "</Note></ScoredEvent>"
    text = nsrr().replace("<ScoredEvents>", "<ScoredEvents>" + filler * 100_000)
    path = written(tmp_path, text)
    tracemalloc.start()
    read_nsrr_xml(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size  # a tree of it would have ten times as much


@pytest.mark.parametrize("fault", ["</wrong>", "<a <b>", "\x01", "&unknown;"])
@pytest.mark.parametrize("read", [read_nsrr_xml, read_profusion_xml])
def test_a_fault_far_behind_the_beginning_is_an_error_of_the_file(
    tmp_path: Path, read: Callable[[Path], object], fault: str
) -> None:
    whole = nsrr() if read is read_nsrr_xml else profusion()
    middle = whole.rindex("</Scor") if "</Scor" in whole else whole.rindex("</")
    path = written(tmp_path, whole[:middle] + " " * 1000 + fault + whole[middle:])
    with pytest.raises(XmlError, match="not whole XML"):
        read(path)
