"""`paddleflow queue replay`: what it shows of a log of rounds, and what it says in the end."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import random
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from paddleflow.cli.app import cli
from pf_queue.admission.journal.report import report
from pf_queue.admission.journal.segments import segments
from support.rounds import Life, file_log


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["queue", "replay", *map(str, arguments)], prog_name="paddleflow")


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rounds")
    with file_log(folder) as log:
        for seed in (2, 3):
            life = Life(random.Random(seed), log)
            life.live(80)
    return folder


def objects(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def spoil(folder: Path, old: bytes, new: bytes) -> Path:
    """A file in which something else stands than was decided."""
    text = gzip.decompress(segments(folder)[0].read_bytes())
    assert old in text
    spoiled = folder / "spoiled"
    spoiled.write_bytes(gzip.compress(text.replace(old, new, 1)))
    return spoiled


def test_a_log_comes_out_the_same(rounds: Path) -> None:
    result = run(rounds, "--summary")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("segments 2, turns ")
    assert result.stdout.endswith(": the same bytes\n")
    assert "written by of the tests, which may have decided otherwise" in result.stdout


def test_people_see_what_came_in_and_what_was_decided(rounds: Path) -> None:
    result = run(segments(rounds)[0])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("rounds-2")
    assert "began" in lines[0]
    words = {line.split()[0] for line in lines if line.startswith("    ")}
    assert {"submit", "release", "arrange", "admit"} <= words
    assert any(line.startswith("    admit w") and "worker=+" in line for line in lines)
    assert lines[-2].endswith("ends: it does not say why; its writer was killed, or writes still")


def test_programs_get_an_object_for_each_event(rounds: Path) -> None:
    found = objects(run(rounds, "-o", "json"))
    assert [each["event"] for each in found if each["event"] != "turn"] == ["segment", "end"] * 2 + ["summary"]
    assert (found[-1]["same"], found[-1]["difference"]) == (True, None)
    documents = list(yaml.safe_load_all(run(rounds, "-o", "yaml").stdout))
    assert [[each] for each in found] == documents


def test_scripts_get_a_line_for_each_event(rounds: Path) -> None:
    lines = run(rounds, "-o", "text").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines if not line.startswith("turn\t")] == ["segment", "end"] * 2 + [
        "summary"
    ]


def test_only_what_is_about_a_queue_or_a_job_is_shown(rounds: Path) -> None:
    turns = [each for each in objects(run(rounds, "-o", "json")) if each["event"] == "turn"]
    named = [told for turn in turns for told in turn["decisions"]]  # type: ignore[attr-defined]
    queue, job = named[0]["queue"], named[0]["job"].rpartition("/")[0]
    for option, value in (("--queue", queue), ("--job", job)):
        shown = [each for each in objects(run(rounds, "-o", "json", option, value)) if each["event"] == "turn"]
        assert 0 < len(shown) < len(turns)
        told = [told for turn in shown for told in (*turn["inputs"], *turn["decisions"])]  # type: ignore[misc]
        if option == "--queue":
            assert {each["queue"] for each in told} == {queue}
        else:
            assert all(job in (each["job"].rpartition("/")[0], each.get("for", "").rpartition("/")[0]) for each in told)


def test_only_what_was_in_a_time_is_shown(rounds: Path) -> None:
    times = [str(each["time"]) for each in objects(run(rounds, "-o", "json")) if each["event"] == "turn"]
    middle = sorted(times)[len(times) // 2]
    early = [each for each in objects(run(rounds, "-o", "json", "--to", middle)) if each["event"] == "turn"]
    late = [each for each in objects(run(rounds, "-o", "json", "--from", middle)) if each["event"] == "turn"]
    assert early
    assert late
    assert len(early) + len(late) == len(times)
    assert max(str(each["time"]) for each in early) < middle <= min(str(each["time"]) for each in late)


def test_a_difference_is_named_and_fails(rounds: Path) -> None:
    result = run(spoil(rounds, b'"admit"', b'"evict"'), "--summary")
    assert result.exit_code == 1
    assert "the first difference is in turn " in result.stdout
    assert "decided 0: kind: logged 'evict', replayed 'admit'" in result.stdout


def test_a_damaged_file_fails_and_the_others_are_replayed(rounds: Path, tmp_path: Path) -> None:
    for path in segments(rounds):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "rounds-1.jsonl.gz").write_text("no log")
    result = run(tmp_path, "--summary")
    assert result.exit_code == 1
    assert "unreadable 1" in result.stdout
    assert result.stdout.endswith(": what could be read came to the same bytes\n")
    assert "rounds-1.jsonl.gz  is no log of rounds" in run(tmp_path).stdout


def test_a_folder_without_a_log_fails(tmp_path: Path) -> None:
    result = run(tmp_path, "--summary")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"there is no log of rounds in {str(tmp_path)!r}" in result.stderr


def test_a_file_that_is_deleted_meanwhile_is_left_out(rounds: Path, tmp_path: Path) -> None:
    for path in segments(rounds):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    events = report(tmp_path)
    assert next(events)["event"] == "segment"
    segments(tmp_path)[1].unlink()
    assert {each["event"] for each in events} == {"turn", "end"}


def test_what_a_file_says_never_reaches_the_terminal_as_a_command(rounds: Path) -> None:
    hostile = spoil(rounds, b'"software":"of', b'"software":"\\u001b]0;\\u009b31m')
    for form in ("table", "text"):
        shown = run(hostile, "-o", form).stdout
        assert "\\x1b]0;\\x9b31m the tests" in shown
        assert not set(shown) & {"\x1b", "\x9b"}


def test_without_the_server_it_says_what_to_do(rounds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    result = run(rounds)
    assert result.exit_code == 1
    assert "pip install paddleflow-server" in result.stderr


def test_a_path_that_is_not_there_is_refused() -> None:
    assert run("/nowhere").exit_code == 2
