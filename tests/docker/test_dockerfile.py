"""The Dockerfile: linted, in step with the project, and without anything that is not needed."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docker.compose_file import DOCKER, read_compose
from tests.docker.dockerfile import (
    DOCKERFILE,
    copied_from_context,
    image_environment,
    instructions,
    last_stage,
)

PROJECT = DOCKER.parent
PACKAGES = ("storage", "preprocessing", "deaps", "flows")


def _program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (make venv brings it)")
    return found


def _ignored(path: str) -> bool:
    """Tell whether .dockerignore keeps a path out: the last line that fits decides."""
    ignored = False
    for line in (PROJECT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!")
            above = [path, *map(str, Path(path).parents)]
            if any(fnmatch.fnmatch(one, pattern) for one in above):
                ignored = not line.startswith("!")
    return ignored


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(
        [_program("hadolint"), str(DOCKERFILE)], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    assert done.returncode == 0


def test_the_folder_holds_no_python() -> None:
    assert not list(DOCKER.rglob("*.py"))


@pytest.mark.parametrize("source", copied_from_context())
def test_what_is_copied_is_there_and_reaches_the_build(source: str) -> None:
    assert (PROJECT / source).exists()
    assert not _ignored(source)


@pytest.mark.parametrize(
    "path",
    [
        *("docker/secrets/prefect_auth.txt", "docker/.env", "docker/deaps.toml", ".git/config"),
        *(".venv/bin/python", "data/shhs/a.edf", "demo-store/index.duckdb", "deaps.toml", ".env"),
        *("flows/__pycache__/cli.pyc", "deaps/report/__pycache__/page.pyc", "tests/conftest.py"),
    ],
)
def test_what_an_image_does_not_need_stays_out_of_the_build(path: str) -> None:
    assert _ignored(path)


def test_base_images_have_a_tag_and_an_empty_digest() -> None:
    bases = {one.text.split()[0] for one in instructions() if one.name == "FROM"}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+\$\{PYTHON_DIGEST\}", bases.pop())
    # Before the first FROM, or no FROM would see it.
    assert instructions()[0] == ("ARG", 'PYTHON_DIGEST=""')


def test_the_image_runs_as_the_user_of_the_compose_file() -> None:
    users = [one.text for one in last_stage() if one.name == "USER"]
    assert users == [read_compose()["services"]["worker-cpu"]["user"]]


def test_no_secret_is_an_argument_or_a_variable() -> None:
    for instruction in instructions():
        if instruction.name in {"ARG", "ENV"}:
            assert not re.search("PASSWORD|AUTH|SECRET|TOKEN|CREDENTIAL", instruction.text)


def test_what_is_written_without_a_volume_goes_to_tmp() -> None:
    environment = image_environment()
    for name in ("HOME", "PREFECT_HOME", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        assert Path(environment[name]).is_relative_to("/tmp")


def test_every_command_of_the_compose_file_is_in_the_image() -> None:
    scripts = {one.text.split()[-1] for one in last_stage() if "docker/" in one.text}
    ours = {Path(target).name for target in scripts}
    installed = {path.name for path in Path(sys.executable).parent.iterdir()}
    for service in read_compose()["services"].values():
        if service["image"].startswith("deaps:"):
            assert set(service["entrypoint"]) <= ours
            assert service["command"][0] in ours | installed


def test_the_version_is_the_projects() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert ("ARG", f"VERSION={version}") in last_stage()
    services = read_compose()["services"]
    assert services["worker-cpu"]["image"] == f"deaps:{version}-cpu"
    assert services["worker-gpu"]["image"] == f"deaps:{version}-cuda"
    assert services["prefect-server"]["build"]["args"]["VERSION"] == version


def test_only_the_cuda_image_takes_torch_from_the_ordinary_index() -> None:
    services = read_compose()["services"]
    assert "TORCH_INDEX" not in services["prefect-server"]["build"]["args"]
    assert services["worker-gpu"]["build"]["args"]["TORCH_INDEX"] == "https://pypi.org/simple"


def test_the_wheel_holds_every_file_of_the_packages() -> None:
    builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    included = builders.WheelBuilder(str(PROJECT)).recurse_included_files()
    in_wheel = {file.distribution_path for file in included}
    on_disk = {
        str(path.relative_to(PROJECT))
        for package in PACKAGES
        for path in (PROJECT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert on_disk == in_wheel
    assert set(PACKAGES) <= set(copied_from_context())
