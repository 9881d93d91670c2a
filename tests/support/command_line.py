"""`paddleflow` as tests call it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from paddleflow.cli.app import cli
from support.fake_services import PASSWORD


@dataclass(frozen=True)
class CommandLine:
    """The command line with a configuration of its own."""

    config: Path

    @classmethod
    def configured(
        cls,
        folder: Path,
        address: str,
        *,
        user: str = "root",
        password: str = PASSWORD,
        services: Mapping[str, str] | None = None,
    ) -> CommandLine:
        config = folder / "paddleflow.ini"
        places = "".join(f"{name} = {place}\n" for name, place in (services or {}).items())
        config.write_text(
            f"[user]\nname = {user}\npassword = {password}\n[server]\npaddleflow_server_host = {address}\n"
            f"[services]\n{places}"
        )
        return cls(config)

    def run(self, command: str, *, typed: str = "") -> Result:
        """Runs the command with its output going into a pipe."""
        environ = {"PADDLEFLOW_CONFIG": str(self.config)}
        return CliRunner(env=environ).invoke(cli, shlex.split(command), input=typed, prog_name="paddleflow")

    def run_without_config(self, command: str, *, typed: str = "") -> Result:
        """Runs the command with what the environment and the home hold."""
        return CliRunner().invoke(cli, shlex.split(command), input=typed, prog_name="paddleflow")

    def output(self, command: str, *, typed: str = "") -> str:
        """What a command that must succeed prints."""
        result = self.run(command, typed=typed)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout
