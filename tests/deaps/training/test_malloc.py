import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource
import sys
import numpy as np
from deaps.training.device import keep_freed_memory

kept = sys.argv[1] == "kept"
if kept:
    assert keep_freed_memory()
for _ in range(5):
    np.ones(8_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    np.ones(8_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    command = [sys.executable, "-c", COUNT_FAULTS, mode]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone has mallopt")
def test_freed_memory_is_used_again_without_page_faults() -> None:
    assert faults("kept") < 0.1 * faults("given back")
