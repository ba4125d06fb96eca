"""Representations of data sets, and ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from deaps.embed import embed_dataset, embed_windows
from deaps.models.encoder import Encoder
from deaps.models.export import export_onnx
from storage import WindowStore
from storage.errors import DeapsError
from tests.deaps.models.made_encoder import write_encoder
from tests.deaps.training.training_store import WINDOWS, make_training_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_training_store(tmp_path_factory.mktemp("embed") / "store", subjects=2)


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(1)
    return Encoder()


def test_embeddings_carry_their_windows_ids(store: Path, encoder: Encoder, tmp_path: Path) -> None:
    out = tmp_path / "e.parquet"
    n_windows = embed_dataset(store, "ds", encoder, out).n_windows
    # made_columns clips every second window, and the gate leaves those out.
    assert n_windows == 4 * WINDOWS // 2
    table = pq.read_table(out)
    ids, rows = table["recording_id"].to_numpy(), table["row"].to_numpy()
    assert (rows % 2 == 0).all()
    found = np.stack(table["embedding"].to_numpy())
    windows = WindowStore(store).read(ids[:7], rows[:7])
    np.testing.assert_allclose(found[:7], embed_windows(encoder, windows), atol=1e-6)


def test_unknown_data_set_is_named(store: Path, encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match="no windows of data set 'nothing'"):
        embed_dataset(store, "nothing", encoder, tmp_path / "e.parquet")


def test_no_windows_give_no_rows(encoder: Encoder) -> None:
    assert embed_windows(encoder, np.empty((0, 1000), np.float32)).shape == (0, 128)


def test_onnx_equals_torch_for_any_number_of_windows(tmp_path: Path, encoder: Encoder) -> None:
    import onnxruntime

    file = tmp_path / "encoder.safetensors"
    write_encoder(file, encoder)
    out = tmp_path / "encoder.onnx"
    assert export_onnx(file, out) < 1e-4
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    for n in (1, 70):
        windows = np.random.default_rng(n).normal(size=(n, 1000)).astype(np.float32)
        (found,) = session.run(None, {"windows": windows})
        np.testing.assert_allclose(found, embed_windows(encoder, windows), atol=1e-4)
