"""`make setup` finds a Python that is good for something, and says what to install where there is none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.repository import ROOT

TOOLS = ("bash", "chmod", "cut", "dirname", "flock", "id", "mkdir", "mv", "rm", "sed", "seq", "sha256sum")
INPUTS = ("tools/setup.sh", "uv.lock", "pyproject.toml", "client/pyproject.toml")
BROKEN_SHIM = "exit 127"
OLD = "exit 1"
WITHOUT_PIP = 'case "$*" in *sys.version_info*) exit 0;; *) exit 1;; esac'
# Good enough to be chosen; then the test has seen what it wanted, so that making an environment fails.
GOOD = 'case "$*" in *venv*.tools*) exit 9;; *) exit 0;; esac'
# The version that the script wants, whichever that is.
UV = "sed -n 's/^UV_VERSION=/uv /p' tools/setup.sh"


class Machine:
    """A machine of which only the PATH is known."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.project = folder / "project"
        self.programs.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, tool
            (self.programs / tool).symlink_to(found)
        for name in INPUTS:
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.project / name)

    def install(self, name: str, body: str, folder: str = "") -> Path:
        path = self.programs.parent / folder / name if folder else self.programs / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)
        return path

    def furnish(self) -> None:
        """All is there but the workspace."""
        for path, body in ((".venv/bin/python", GOOD), (".tools/bin/uv", UV)):
            program = self.project / path
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/usr/bin/env bash\n{body}\n")
            program.chmod(0o755)

    def setup(self, *folders: str) -> subprocess.CompletedProcess[str]:
        path = ":".join([*(str(self.programs.parent / folder) for folder in folders), str(self.programs)])
        return subprocess.run([self.project / "tools/setup.sh"], env={"PATH": path}, capture_output=True, text=True)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("useless", [BROKEN_SHIM, OLD, WITHOUT_PIP])
def test_a_useless_python_is_passed_over(machine: Machine, useless: str) -> None:
    machine.install("python3", useless)
    good = machine.install("python3.12", GOOD)
    result = machine.setup()
    assert result.returncode == 9
    assert f"into .tools with {good}\n" in result.stderr


def test_a_good_python_behind_a_broken_shim_is_found(machine: Machine) -> None:
    machine.install("python3", BROKEN_SHIM, folder="shims")
    good = machine.install("python3", GOOD)
    assert f"with {good}\n" in machine.setup("shims").stderr


def test_the_python_of_the_path_comes_before_a_newer_one(machine: Machine) -> None:
    wanted = machine.install("python3", GOOD)
    machine.install("python3.13", GOOD)
    assert f"with {wanted}\n" in machine.setup().stderr


def test_what_to_install_is_said(machine: Machine) -> None:
    machine.install("python3", WITHOUT_PIP)
    result = machine.setup()
    assert result.returncode == 1
    assert result.stderr.endswith("Run:  sudo apt-get install -y python3-venv\n")


def test_a_missing_package_is_installed_where_that_is_allowed(machine: Machine) -> None:
    (machine.programs / "id").unlink()
    machine.install("id", "echo 0")
    python = machine.install("new-python", GOOD)
    machine.install("apt-get", f'echo "$*" >{machine.project}/installed; mv {python} {machine.programs}/python3')
    assert "installing uv" in machine.setup().stderr
    assert (machine.project / "installed").read_text() == "install -y python3-venv\n"


def test_what_users_mount_with_is_installed_where_that_is_allowed(machine: Machine) -> None:
    machine.furnish()
    (machine.programs / "id").unlink()
    machine.install("id", "echo 0")
    machine.install("apt-get", f'echo "$*" >>{machine.project}/installed')
    assert machine.setup().returncode == 0
    assert (machine.project / "installed").read_text() == "install -y fuse3\n"
    assert machine.setup().stderr == "", "all is ready"


def test_without_what_users_mount_with_all_else_is_set_up(machine: Machine) -> None:
    machine.furnish()
    result = machine.setup()
    assert result.returncode == 0
    assert "only root can mount filesystems until you run:  sudo apt-get install -y fuse3\n" in result.stderr


def test_what_users_mount_with_is_left_as_it_is(machine: Machine) -> None:
    machine.furnish()
    machine.install("fusermount3", "exit 1")
    assert "fuse3" not in machine.setup().stderr
