"""The data sets that can be read, by name."""

from __future__ import annotations

from preprocessing.datasets.challenge2017 import Challenge2017
from preprocessing.datasets.folder import Folder
from preprocessing.datasets.interface import DataSet
from preprocessing.datasets.physionet_wfdb import (
    EcgId,
    MitArrhythmia,
    MitAtrialFibrillation,
    PafPrediction,
)
from preprocessing.datasets.shhs import Shhs

DATASETS: dict[str, DataSet] = {
    dataset.name: dataset
    for dataset in (
        Shhs(),
        MitArrhythmia(),
        MitAtrialFibrillation(),
        Challenge2017(),
        PafPrediction(),
        EcgId(),
        Folder(),
    )
}

__all__ = ["DATASETS", "DataSet"]
