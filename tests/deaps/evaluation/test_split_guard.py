import numpy as np
import pytest

from deaps.evaluation.examples import Fold, guarded, without_copies_of_tested
from storage.errors import DeapsError
from tests.deaps.evaluation.labelled_store import made_examples

FOLD = Fold("f", np.array([0, 1]), np.array([2, 3]))


def test_a_split_without_leak_passes_as_it_is() -> None:
    examples = made_examples([0, 1, 0, 1], ["a", "b", "c", "c"])
    assert guarded(examples, [FOLD]) == (FOLD,)


def test_a_subject_on_both_sides_is_refused_by_name() -> None:
    examples = made_examples([0, 1, 0, 1], ["a", "b", "c", "b"])
    with pytest.raises(DeapsError, match=r"1 subjects are both fitted on and tested.* b"):
        guarded(examples, [FOLD])


def test_a_byte_identical_recording_on_both_sides_is_refused() -> None:
    contents = np.array(["same", "x", "y", "same"])
    examples = made_examples([0, 1, 0, 1], ["a", "b", "c", "d"], contents=contents)
    with pytest.raises(DeapsError, match=r"1 recordings are both fitted on and tested.* same"):
        guarded(examples, [FOLD])


@pytest.mark.parametrize("side", ["train", "test"])
def test_an_empty_side_is_refused(side: str) -> None:
    sides = {"train": np.array([0]), "test": np.array([1]), side: np.array([], int)}
    with pytest.raises(DeapsError, match=f"empty {side} side"):
        guarded(made_examples([0, 1], ["a", "b"]), [Fold("f", sides["train"], sides["test"])])


def test_training_copies_of_tested_recordings_are_removed() -> None:
    examples = made_examples(
        [0, 1, 0, 1],
        ["a", "b", "c", "a"],
        contents=np.array(["1", "2", "2", "3"]),
        sides=np.array(["train", "train", "test", "test"]),
    )
    kept, copies = without_copies_of_tested(examples)
    assert copies == 2  # "a" is the same subject, "b" the same signal
    assert kept.subjects.tolist() == ["c", "a"]
    assert kept.owner.tolist() == [0, 1]
