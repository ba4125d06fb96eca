"""Flows: what runs after what, the composed configuration, and the command line.

Prefect reads its environment when it is first imported, so this package sets it before any of
its modules can. What the user has set stands.
"""

from __future__ import annotations

import os

PREFECT_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # The first start took 18 s on a small machine; Prefect's own limit is 20 s.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # A line for each task would drown the progress bar.
    "PREFECT_LOGGING_LEVEL": "WARNING",
    # A run whose process is gone is known by its silence; 30 s is the smallest.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    # Prefect pickles results otherwise.
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
}

for _name, _value in PREFECT_ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)
