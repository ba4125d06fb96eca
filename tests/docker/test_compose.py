"""The compose file: of the specification's shape, complete, closed, and in step with the code."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.config import load_settings
from flows.runtime.dask_pool import WORKER_SETTINGS
from tests.docker.compose_file import COMPOSE, DOCKER, VARIABLE, read_compose, volumes
from tests.docker.compose_shape import FILE, problems

CONTENT = read_compose()
SERVICES: dict[str, dict[str, Any]] = CONTENT["services"]
ONE_SHOT = {"deploy", "cli"}
SECRET_NAME = re.compile("PASSWORD|AUTH|SECRET|TOKEN|KEY|CREDENTIAL", re.IGNORECASE)

each_service = pytest.mark.parametrize("name", SERVICES)


def test_it_has_the_shape_of_the_specification() -> None:
    assert list(problems(CONTENT, FILE)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"imagee": "a:1"},
        {"command": "one text"},
        {"healthcheck": {"interval": "30"}},
        {"depends_on": {"b": {"condition": "healthy"}}},
        {"volumes": [{"type": "bind", "readonly": True}]},
        {"environment": {"A": True}},
        {"ports": ["4200:4200"]},
    ],
    ids=str,
)
def test_a_mistake_in_a_service_is_found(wrong: dict[str, Any]) -> None:
    assert list(problems({"services": {"a": wrong}}, FILE))


@pytest.mark.parametrize("kind", ["networks", "secrets"])
def test_what_services_name_is_defined_and_what_is_defined_is_used(kind: str) -> None:
    named = {name for service in SERVICES.values() for name in service.get(kind, [])}
    assert named == set(CONTENT[kind])


def test_every_volume_is_defined_or_a_path() -> None:
    sources = {source for service in SERVICES.values() for source, _ in volumes(service).values()}
    assert {source for source in sources if source[0] not in "./"} == set(CONTENT["volumes"])


@each_service
def test_a_service_waits_for_services_that_can_be_waited_for(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert SERVICES[other]["healthcheck"]["test"]
        if how["condition"] == "service_completed_successfully":
            assert SERVICES[other]["restart"] == "no"


@each_service
def test_a_service_has_no_more_rights_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    user, group = service["user"].split(":")
    assert int(user) > 0
    assert int(group) > 0


@each_service
def test_a_service_is_watched_restarted_and_limited(name: str) -> None:
    service = SERVICES[name]
    if name not in ONE_SHOT:
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"
    if name != "cli":
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}


@each_service
def test_the_engine_is_never_handed_to_a_container(name: str) -> None:
    assert not any("docker.sock" in source for source, _ in volumes(SERVICES[name]).values())


@each_service
def test_an_image_has_a_tag_that_stays(name: str) -> None:
    tag = SERVICES[name]["image"].partition(":")[2]
    assert tag
    assert "latest" not in tag


@each_service
def test_a_secret_is_given_as_a_file_that_the_service_may_read(name: str) -> None:
    for variable, value in SERVICES[name].get("environment", {}).items():
        if SECRET_NAME.search(variable):
            assert variable.endswith("_FILE")
            assert Path(value).parent == Path("/run/secrets")
            assert Path(value).name in SERVICES[name]["secrets"]


def test_no_password_is_written_anywhere() -> None:
    for path in DOCKER.iterdir():
        if path.is_file() and path.name != ".env":
            assert not re.search(r"://[^/\s:]+:[^/\s@]+@", path.read_text()), path


def test_no_digest_is_written_that_nobody_looked_up() -> None:
    for path in DOCKER.iterdir():
        if path.is_file() and path.name != ".env":
            assert not re.search("sha256:[0-9a-f]", path.read_text()), path


def test_secrets_are_kept_out_of_git() -> None:
    ignored = (DOCKER.parent / ".gitignore").read_text().splitlines()
    folders = {str(Path("docker", secret["file"]).parent) for secret in CONTENT["secrets"].values()}
    assert {f"{folder}/" for folder in folders} <= set(ignored)


def test_only_the_server_can_be_reached_and_only_from_this_machine() -> None:
    assert CONTENT["networks"]["inside"] == {"internal": True}
    published = {name for name, service in SERVICES.items() if service.get("ports")}
    outside = {name for name, service in SERVICES.items() if "outside" in service["networks"]}
    assert published == outside == {"prefect-server"}
    assert SERVICES["prefect-server"]["ports"] == ["127.0.0.1:4200:4200"]


@pytest.mark.parametrize("name", ["worker-cpu", "worker-gpu", "dask-worker", "cli"])
def test_all_who_work_see_the_same_folders_and_cannot_change_the_data(name: str) -> None:
    mounted = volumes(SERVICES[name])
    assert mounted["/data"] == ("../data", True)
    assert mounted["/config/deaps.toml"] == ("./deaps.toml", True)
    assert mounted["/store"] == ("store", False)
    assert SERVICES[name]["environment"].get("DEAPS_CONFIG", "/config/deaps.toml") in mounted


def test_the_store_can_be_a_folder_with_an_owner_of_ones_own() -> None:
    content = read_compose({"DEAPS_STORE": "/big/store", "DEAPS_UID": "1000"})
    worker = content["services"]["worker-cpu"]
    assert volumes(worker)["/store"] == ("/big/store", False)
    assert worker["user"] == "1000:10001"
    assert list(problems(content, FILE)) == []


def test_every_variable_is_explained_at_the_top() -> None:
    text = COMPOSE.read_text()
    explained = " ".join(line for line in text.splitlines() if line.startswith("#   "))
    used = {match["name"] for match in VARIABLE.finditer(text)}
    assert used <= set(re.findall(r"\w+", explained))


def test_a_variable_has_one_default() -> None:
    defaults: dict[str, set[str]] = {}
    for match in VARIABLE.finditer(COMPOSE.read_text()):
        defaults.setdefault(match["name"], set()).add(match["default"])
    assert {name for name, values in defaults.items() if len(values) > 1} == set()


def test_the_settings_fit_the_services() -> None:
    settings = load_settings(config=DOCKER / "deaps.toml")
    assert all(root.is_relative_to("/data") for root in settings.data.roots().values())
    assert settings.store.root == Path("/store")
    port = SERVICES["dask-scheduler"]["command"][3]
    address = f"tcp://dask-scheduler:{port}"
    assert settings.execution.dask_address == address
    assert address in SERVICES["dask-worker"]["command"]


def test_dask_workers_are_set_as_the_local_ones_are() -> None:
    expected: dict[str, Any] = dict(WORKER_SETTINGS)
    environment: dict[str, str] = expected.pop("distributed.nanny.pre-spawn-environ")
    for key, value in expected.items():
        environment["DASK_" + key.upper().replace(".", "__").replace("-", "_")] = str(value)
    for name in ("dask-scheduler", "dask-worker"):
        given = dict(SERVICES[name]["environment"])
        given.pop("HEALTH_URL")
        assert given == environment


def test_each_deployment_has_a_worker_for_its_pool() -> None:
    path = DOCKER.parent / "prefect.yaml"
    deployments = yaml.safe_load(path.read_text())["deployments"]
    pools = {deployment["work_pool"]["name"] for deployment in deployments}
    workers = [s["command"] for n, s in SERVICES.items() if n.startswith("worker-")]
    assert pools == {command[command.index("--pool") + 1] for command in workers}


def test_slots_of_runs_outlive_the_server() -> None:
    server = SERVICES["prefect-server"]
    assert server["environment"]["PREFECT_HOME"] == "/prefect"
    assert volumes(server)["/prefect"] == ("prefect", False)
    storage = "prefect.server.concurrency.lease_storage.filesystem"
    assert server["environment"]["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"] == storage
    settings = tomllib.loads((DOCKER.parent / "prefect.toml").read_text())
    assert settings["server"]["concurrency"]["lease_storage"] == storage
    assert importlib.util.find_spec(storage)


@pytest.mark.parametrize("name", ["worker-cpu", "worker-gpu"])
def test_a_worker_takes_one_run_at_a_time(name: str) -> None:
    """A limit of the pool would let a single machine train, however many there are."""
    command = SERVICES[name]["command"]
    assert command[command.index("--limit") + 1] == "1"
