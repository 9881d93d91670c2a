"""What replicas are started with, run by a real shell."""

from __future__ import annotations

import subprocess

import pytest

from pf_job.specs.commands import argv, cwd
from pf_job.specs.domain import FilesystemMount, Work

DATA = FilesystemMount(id="fs-root-data")
OTHER = FilesystemMount(name="other", mount_path="/mnt/other/")


def said(command: str, *args: str) -> str:
    return subprocess.run(argv(Work(command=command, args=args)), capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("command", "args", "output"),
    [
        ("echo a; echo b", (), "a\nb\n"),
        ("printf '%s,'", ("a b", "$HOME", "'", '"', "*"), "a b,$HOME,',\",*,"),
        ("printf '%s,'\n", ("a",), "a,"),
        ("echo", ("; echo injected",), "; echo injected\n"),
        ("set -- x; echo $#", (), "1\n"),
        ("sh -c echo a", (), "a\n"),
        ("bash -c echo a", ("b",), "a b\n"),
        ("sh -c 'echo a; echo b'", (), "a\nb\n"),
        ('bash -c "echo a"', (), "a\n"),
    ],
)
def test_a_shell_runs_the_text_and_arguments_stay_as_they_are(command: str, args: tuple[str, ...], output: str) -> None:
    assert said(command, *args) == output


def test_arguments_alone_are_a_program_without_a_shell() -> None:
    assert argv(Work(args=("python", "-c", "print('$x')"))) == ("python", "-c", "print('$x')")
    assert argv(Work()) == ()


@pytest.mark.parametrize(
    ("work", "folder"),
    [
        (Work(), ""),
        (Work(fs=DATA), "/home/paddleflow/storage/mnt/fs-root-data"),
        (Work(fs=DATA, extra_fs=(OTHER,)), "/home/paddleflow/storage/mnt/fs-root-data"),
        (Work(extra_fs=(OTHER, DATA)), "/mnt/other"),
        (Work(fs=OTHER, env={"PF_MOUNT_PATH": "NONE"}), ""),
        (Work(fs=OTHER, env={"PF_MOUNT_PATH": "none"}), ""),
        (Work(fs=OTHER, env={"PF_MOUNT_PATH": "/elsewhere"}), "/mnt/other"),
        (Work(fs=FilesystemMount(id="fs-a-b", sub_path="c")), "/home/paddleflow/storage/mnt/fs-a-b"),
    ],
)
def test_replicas_start_in_their_first_filesystem(work: Work, folder: str) -> None:
    assert cwd(work) == folder
