"""A SLURM cluster of this one machine, on 127.0.0.1: real daemons, as processes of a test."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.flows.prefect_processes import free_port, running, wait_for

DAEMONS = ("munged", "slurmctld", "slurmd")
MISSING = [name for name in DAEMONS if shutil.which(name, path="/usr/sbin:/usr/bin") is None]

CONFIG = """
ClusterName=deaps
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.txt
SlurmdLogFile={folder}/slurmd.txt
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
MailProg=/bin/true
MpiDefault=none
JobRequeue=1
KillWait=2
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=64000 Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
PartitionName=cpu Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
PartitionName=gpu Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


@contextmanager
def slurm_cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment in which ``sbatch`` reaches the cluster."""
    folder.mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    ports = {"controller": free_port(), "node": free_port()}
    for name in ("state", "spool"):
        (folder / name).mkdir()
    config = folder / "slurm.conf"
    config.write_text(CONFIG.format(host=host, folder=folder, cores=os.cpu_count(), **ports))
    # Counted by SLURM as a GPU is; there is no device behind it.
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")
    (folder / "cgroup.conf").write_text("CgroupAutomount=no\nConstrainCores=no\n")
    env = {**os.environ, "SLURM_CONF": str(config)}
    with ExitStack() as stack:
        stack.enter_context(running(_munged(folder), folder, env, "munged"))
        wait_for((folder / "munge.socket").exists, 60)
        for daemon in ("slurmctld", "slurmd"):
            command = [f"/usr/sbin/{daemon}", "-D", "-f", str(config)]
            stack.enter_context(running(command, folder, env, daemon))
        wait_for(lambda: "idle" in _nodes(env), 120)
        try:
            yield env
        finally:
            subprocess.run(["scancel", "--user=root"], env=env, check=False, capture_output=True)


def _munged(folder: Path) -> list[str]:
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    return [
        "/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}",
        f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
        f"--log-file={folder}/munged.txt", f"--seed-file={folder}/munged.seed",
    ]  # fmt: skip


def _nodes(env: dict[str, str]) -> str:
    asked = subprocess.run(
        ["sinfo", "--noheader", "--format=%T"], env=env, capture_output=True, text=True, check=False
    )
    return asked.stdout
