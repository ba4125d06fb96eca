"""All rows of the table."""

from __future__ import annotations

from tests.torture.bad_files import bad_edf, bad_wfdb, bad_xml
from tests.torture.kills import durable_order, kill_in_preprocessing
from tests.torture.row import Row

ROWS = (
    Row("kill-preprocess", "kill -9 of preprocess, at random moments and at named points", 200,
        "I1-I5", kill_in_preprocessing, weight=3),
    Row("durable-order", "order of fsync and rename", 5, "I1, I2", durable_order, weight=2),
    Row("edf", "EDF: mutations, truncation, garbage, absurd calibration, huge counts", 3000,
        "I4, I7, equal to another reader", bad_edf, weight=0.3),
    Row("wfdb", "WFDB, Challenge .mat, label and subject tables: the same", 2000, "I4, I7",
        bad_wfdb, weight=0.3),
    Row("xml", "annotation XML: the same", 1000, "words or a scoring", bad_xml, weight=0.05),
)  # fmt: skip
