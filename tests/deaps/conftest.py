"""Fixtures of tests on models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

DEVICES = ["cpu"]
if torch.accelerator.is_available():
    DEVICES.append(str(torch.accelerator.current_accelerator()))


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    """Each device of this machine in turn."""
    return torch.device(request.param)


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    """One thread: at these sizes more are slower, and much slower on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
