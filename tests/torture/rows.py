"""All rows of the table."""

from __future__ import annotations

from tests.torture.kills import durable_order, kill_in_preprocessing
from tests.torture.row import Row

ROWS = (
    Row("kill-preprocess", "kill -9 of preprocess, at random moments and at named points", 200,
        "I1-I5", kill_in_preprocessing, weight=3),
    Row("durable-order", "order of fsync and rename", 5, "I1, I2", durable_order, weight=2),
)  # fmt: skip
