"""Packed runs: the same bytes again, nobody's name, and nothing that leads out of the store."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deaps.evaluation.answers import write_answers
from deaps.evaluation.probes import Answers
from deaps.packed_run import pack_run, unpack_run
from deaps.train import train_run
from deaps.training.run_folder import Run, create_run, encoder_digests, encoder_files
from deaps.training.trained_on import read_trained_on
from flows.config import load_settings
from flows.experiment.plan import method_plan
from storage.errors import DeapsError
from tests.deaps.evaluation.labelled_store import make_labelled_store, recording
from tests.storage.made_store import publish_rows

_ANSWERS = "features/answers/one.answers"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of two steps with one file of answers."""
    store = make_labelled_store(tmp_path_factory.mktemp("store"))
    settings = load_settings(
        overrides=['sampling.datasets=["shhs"]', "training.batch=4", "training.iterations=2"]
    )
    run = train_run(create_run(store, method_plan(settings, "byol")).folder, device="cpu")
    write_answers(run.folder / _ANSWERS, [Answers(np.zeros(2, np.int8), np.zeros((2, 3)))])
    return run


@pytest.fixture
def other_store(tmp_path: Path) -> Path:
    """Another store with the same recordings."""
    return make_labelled_store(tmp_path / "other")


def test_a_run_arrives_with_its_answers_and_without_its_weights(
    run: Run, other_store: Path, tmp_path: Path
) -> None:
    arrived = unpack_run(pack_run(run, tmp_path), other_store)
    assert arrived is not None
    assert (arrived.name, arrived.plan, arrived.finished) == (run.name, run.plan, True)
    assert (arrived.folder / _ANSWERS).read_bytes() == (run.folder / _ANSWERS).read_bytes()
    assert encoder_digests(arrived.folder) == encoder_digests(run.folder) != {}
    assert not list(encoder_files(arrived.folder))


def test_packing_again_gives_the_same_bytes(run: Run, other_store: Path, tmp_path: Path) -> None:
    packed = pack_run(run, tmp_path)
    content = packed.read_bytes()
    assert pack_run(run, tmp_path).read_bytes() == content
    arrived = unpack_run(packed, other_store)
    assert arrived is not None
    assert pack_run(arrived, tmp_path / "again").read_bytes() == content


def test_people_are_in_it_by_their_hashes_alone(
    run: Run, other_store: Path, tmp_path: Path
) -> None:
    packed = pack_run(run, tmp_path)
    people = read_trained_on(run)
    assert people.subjects
    assert not [name for name in people.subjects if name.encode() in packed.read_bytes()]
    arrived = unpack_run(packed, other_store)
    assert arrived is not None
    hashed = read_trained_on(arrived)
    assert hashed.shared_subjects(people.subjects) == people.subjects
    assert (people | hashed).shared_subjects(people.subjects) == people.subjects


def test_a_run_that_is_there_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    before = encoder_digests(run.folder)
    assert unpack_run(pack_run(run, tmp_path), run.store) is None
    assert list(encoder_files(run.folder))
    assert encoder_digests(run.folder) == before


def test_a_run_of_another_snapshot_is_refused(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "fewer"
    publish_rows(other, [recording(other, "shhs", "a")])
    with pytest.raises(DeapsError, match=r"trained on snapshot .* data sets .* differ"):
        unpack_run(pack_run(run, tmp_path), other)
    assert not list((other / "runs").glob("*"))


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            yield member.name, file.read()


def _write(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    "name",
    ["../../escaped", "/escaped", "features/answers/../../../escaped.answers", "weights.bin"],
)
def test_a_name_that_no_packed_run_has_is_refused(
    run: Run, other_store: Path, tmp_path: Path, name: str
) -> None:
    members = dict(_members(pack_run(run, tmp_path))) | {name: b"x"}
    with pytest.raises(DeapsError, match="which no packed run has"):
        unpack_run(_write(tmp_path / "bad.run.tar", members), other_store)
    assert not list(tmp_path.rglob("escaped*"))


def test_a_link_is_refused(other_store: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.run.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("config.toml")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(DeapsError, match="which no packed run has"):
        unpack_run(path, other_store)


@pytest.mark.parametrize("end", [0, 700, 5000])
def test_a_truncated_file_is_refused(run: Run, other_store: Path, tmp_path: Path, end: int) -> None:
    path = pack_run(run, tmp_path)
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(DeapsError, match="damaged"):
        unpack_run(path, other_store)


def test_damaged_answers_are_refused(run: Run, other_store: Path, tmp_path: Path) -> None:
    members = dict(_members(pack_run(run, tmp_path)))
    members[_ANSWERS] = members[_ANSWERS][:-1] + b"x"
    with pytest.raises(DeapsError, match=r"one\.answers is not whole"):
        unpack_run(_write(tmp_path / "bad.run.tar", members), other_store)


def test_a_run_that_is_not_finished_is_not_packed(run: Run, tmp_path: Path) -> None:
    settings = load_settings(overrides=['sampling.datasets=["shhs"]', "training.batch=4"])
    begun = create_run(run.store, method_plan(settings, "byol"))
    with pytest.raises(DeapsError, match="is not finished"):
        pack_run(begun, tmp_path)
