"""docker-compose.yml and the image are what the services expect, since no container engine runs in the tests."""

from __future__ import annotations

import re
import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import new_secrets
from pf_fs.settings import FsSettings
from pf_job.settings import JobSettings
from pf_kit.settings import SettingsError, load
from pf_kit.tokens import Signer
from pf_pipeline.settings import PipelineSettings
from pf_queue.settings import QueueSettings
from support.repository import BIN, ROOT

COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "deploy" / "docker" / "service.Dockerfile"
MOUNTED = "/run/secrets/"
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(:-|:\?)?[^}]*\}")


NEEDED = {"fs": ("queue",), "job": ("queue", "fs"), "pipeline": ("queue", "fs", "job")}
"""Whom services must find when they start; others are asked later."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return content


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compose") / "secrets"
    new_secrets.write(folder, new_secrets.passwords() | new_secrets.keys(datetime.now(UTC)))
    return folder


def environment(compose: dict[str, Any], service: str, secrets: Path) -> dict[str, str]:
    """What the container sees, with the secrets where they are in this test."""
    given: dict[str, str] = compose["services"][service]["environment"]
    return {name: value.replace(MOUNTED, f"{secrets}/") for name, value in given.items()}


def test_it_keeps_to_the_schema() -> None:
    command: list[str | Path] = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_the_queue_service_accepts_its_settings(compose: dict[str, Any], secrets: Path) -> None:
    settings = load(QueueSettings, "PF_QUEUE", environment(compose, "queue", secrets))
    password = (secrets / "postgres-password").read_text()
    assert settings.database.dsn.reveal() == f"postgresql://paddleflow:{password}@postgres:5432/paddleflow"
    assert settings.redis.reveal() == f"redis://:{(secrets / 'valkey-password').read_text()}@valkey:6379"
    assert settings.server.tls.enabled
    assert Signer(settings.signing_key.reveal().encode()).public_key


@pytest.mark.parametrize(("name", "kind"), [("fs", FsSettings), ("job", JobSettings), ("pipeline", PipelineSettings)])
def test_others_accept_theirs_and_find_one_another(
    compose: dict[str, Any], secrets: Path, name: str, kind: type[FsSettings | JobSettings | PipelineSettings]
) -> None:
    settings = load(kind, f"PF_{name.upper()}", environment(compose, name, secrets))
    assert settings.server.tls.enabled
    peers = [getattr(settings, peer) for peer in NEEDED[name]]
    listening = {
        f"{each}:{port.split(':')[-1]}"
        for each, given in compose["services"].items()
        for port in given.get("ports", ())
    }
    assert [peer for peer in peers if peer not in listening] == []
    assert {peer.split(":")[0] for peer in peers} <= set(compose["services"][name]["depends_on"])


def test_a_misspelt_setting_would_be_noticed(compose: dict[str, Any], secrets: Path) -> None:
    wrong = environment(compose, "queue", secrets) | {"PF_QUEUE_SERVER_LISTN": "0.0.0.0:1"}
    with pytest.raises(SettingsError, match="did you mean PF_QUEUE_SERVER_LISTEN"):
        load(QueueSettings, "PF_QUEUE", wrong)


def test_secrets_are_files_that_exist_and_are_used(compose: dict[str, Any], secrets: Path) -> None:
    declared = {name: secret["file"] for name, secret in compose["secrets"].items()}
    assert {file.rpartition("/")[2] for file in declared.values()} == {path.name for path in secrets.iterdir()}
    used = {name for service in compose["services"].values() for name in service["secrets"]}
    assert used == set(declared)
    for name, service in compose["services"].items():
        mounted = {value for value in map(str, service.get("environment", {}).values()) if value.startswith(MOUNTED)}
        assert {value.removeprefix(MOUNTED) for value in mounted} <= set(service["secrets"]), name


def test_what_must_be_given_has_no_default() -> None:
    text = "\n".join(line for line in COMPOSE.read_text().splitlines() if not line.lstrip().startswith("#"))
    found = {(name, operator) for name, operator in VARIABLE.findall(text)}
    assert found == {("PADDLEFLOW_IMAGE", ":-"), ("PADDLEFLOW_LISTEN", ":-"), ("PADDLEFLOW_SECRETS", ":?")}


def test_no_two_installations_share_a_secret(secrets: Path) -> None:
    again = new_secrets.passwords() | new_secrets.keys(datetime.now(UTC))
    assert [name for name, content in again.items() if (secrets / name).read_text() == content] == []
    assert secrets.stat().st_mode & 0o777 == 0o700


def test_every_container_is_confined(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["user"].split(":")[0]) > 0, name
        assert {"cpus", "memory", "pids"} <= set(service["deploy"]["resources"]["limits"]), name
        assert service["healthcheck"]["test"], name
        assert not service["image"].endswith(("latest", ":")), name
    published = {name for name, service in compose["services"].items() if "ports" in service}
    assert published == {"queue", "fs", "job", "pipeline"}


@pytest.mark.parametrize("dockerfile", sorted(DOCKERFILE.parent.glob("*.Dockerfile")), ids=lambda path: path.stem)
def test_an_image_is_built_from_what_is_there(dockerfile: Path) -> None:
    text, ignored = dockerfile.read_text(), (ROOT / ".dockerignore").read_text().splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sources = [word for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for word in line.split()]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert [source for source in sources if not {f"!{source}", f"!{source.split('/')[0]}"} & set(ignored)] == []
    assert set(re.findall(r"--extra (\w+)", text)) <= set(project["optional-dependencies"])
    pinned = re.search(r"^UV_VERSION=(\S+)$", (ROOT / "tools/setup.sh").read_text(), re.MULTILINE)
    assert pinned is not None
    assert f"uv=={pinned[1]}\n" in text


def test_every_service_has_a_container(compose: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    services = [service for service in compose["services"].values() if "build" in service]
    assert {service["command"][0] for service in services} == set(project["scripts"]) - {"pf", "pf-csi", "pf-fuse"}
    assert compose["services"]["queue"]["image"].endswith(f":{project['version']}}}")
