from __future__ import annotations

from pathlib import Path

import pytest

from storage.locks import lock_problem

ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def line(kind: str, options: str, point: str = "/data") -> str:
    return f"90 22 0:50 / {point} rw,relatime shared:2 - {kind} server:/x rw,{options}"


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("nfs4", "vers=4.2,local_lock=none", None),
        ("nfs", "vers=3,local_lock=flock", "local_lock=flock"),
        ("nfs", "vers=3,nolock,local_lock=all", "local_lock=all"),
        ("lustre", "flock,user_xattr", None),
        ("lustre", "localflock", "without the option flock"),
        ("lustre", "user_xattr", "without the option flock"),
        ("cifs", "vers=3.0,nobrl", "nobrl"),
        ("fuse.sshfs", "user_id=0", "on its own machine alone"),
        ("beegfs", "x", None),
        ("xfs", "x", None),
    ],
)
def test_mounts_whose_locks_stay_on_one_machine_are_known(
    kind: str, options: str, reason: str | None
) -> None:
    problem = lock_problem(Path("/data/store"), [ROOT, line(kind, options)])
    assert (problem is None) == (reason is None)
    assert reason is None or reason in str(problem)


def test_the_mount_that_counts_is_the_innermost() -> None:
    mounts = [ROOT, line("lustre", "localflock"), line("nfs4", "local_lock=none", "/data/store")]
    assert lock_problem(Path("/data/store/runs"), mounts) is None
    assert lock_problem(Path("/data/other"), mounts)


def test_a_space_in_a_mount_point_is_read() -> None:
    mounts = [ROOT, line("lustre", "localflock", "/my\\040data")]
    assert lock_problem(Path("/my data/store"), mounts)


def test_this_machine_can_be_asked(tmp_path: Path) -> None:
    assert lock_problem(tmp_path) is None
