"""The variables that the containers set are variables that Prefect reads."""

from __future__ import annotations

import os

import pytest
from prefect.settings import Settings

from flows import PREFECT_ENVIRONMENT
from tests.docker.compose_file import read_compose
from tests.docker.dockerfile import image_environment

SERVICES = read_compose()["services"]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Take every variable of Prefect out of the environment."""
    for name in os.environ:
        if name.startswith(("PREFECT_", "DO_NOT_TRACK")):
            monkeypatch.delenv(name)
    return monkeypatch


def _variables(service: str) -> dict[str, str]:
    """Return Prefect's variables in a container of a service, after with-secrets."""
    both = image_environment() | SERVICES[service]["environment"]
    return {n.removesuffix("_FILE"): v for n, v in both.items() if n.startswith("PREFECT_")}


@pytest.mark.parametrize("service", ["prefect-server", "worker-cpu", "worker-gpu", "deploy", "cli"])
def test_prefect_knows_every_variable(service: str, bare: pytest.MonkeyPatch) -> None:
    given = _variables(service)
    for name, value in given.items():
        bare.setenv(name, value)
    read = Settings().to_environment_variables(exclude_unset=True, include_aliases=True)
    read |= Settings().to_environment_variables(exclude_unset=True)
    assert set(given) <= set(read)


def test_the_server_finds_its_database_with_any_password(bare: pytest.MonkeyPatch) -> None:
    for name, value in _variables("prefect-server").items():
        bare.setenv(name, value)
    bare.setenv("PREFECT_SERVER_DATABASE_PASSWORD", "a@b/c:d")
    url = Settings().server.database.connection_url
    assert url is not None
    expected = "postgresql+asyncpg://prefect:a%40b%2Fc%3Ad@postgres:5432/prefect"
    assert url.get_secret_value() == expected


def test_the_image_sets_what_the_flows_set() -> None:
    # A container has no progress bar that log lines could drown.
    expected = PREFECT_ENVIRONMENT.items() - {("PREFECT_LOGGING_LEVEL", "WARNING")}
    assert expected <= image_environment().items()
