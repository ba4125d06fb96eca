from __future__ import annotations

from flows.runtime.flow_start import command_line


def test_the_recorded_command_leaves_out_what_is_the_machines() -> None:
    overrides = ["data.shhs=/home/x", "training.seed=1", "execution.workers=2", "store.root=/x"]
    told = command_line("run", "open", "/home/me/deaps.toml", overrides)
    assert told == "deaps run --preset open --config deaps.toml --set training.seed=1"
