"""`paddle k8s job` and `paddle mpi job` over the real services."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fixtures_jobs import JobSite
from paddleflow.cli.paddle import paddle
from support.command_line import CommandLine
from support.queue_process import ROOT_PASSWORD

PATIENCE = 30.0
SMALL = "--cpu 100m --mem 16Mi"
TRAIN = """
import os, sys
import settings
role, number = os.environ["TRAINING_ROLE"], os.environ.get("PADDLE_TRAINER_ID", "")
if role == "PSERVER":
    print("serves", flush=True)
    import time; time.sleep(1000)
words = open(os.path.join(os.environ["INPUT"], "words")).read()
with open(os.path.join(os.environ["OUTPUT"], f"part-{number}"), "w") as file:
    file.write(words + settings.END)
print(sys.argv[1:])
"""


class Site:
    """A filesystem with data, a package beside it, and who works with them."""

    def __init__(self, job_site: JobSite, folder: Path) -> None:
        self.line = CommandLine.configured(
            folder, job_site.process.queue.address, password=ROOT_PASSWORD, services=job_site.services
        )
        self.fs = f"data-{job_site.tag}"
        self.root = job_site.process.fs.roots / self.fs
        self.tag = job_site.tag
        (self.root / "in").mkdir(parents=True)
        (self.root / "in" / "words").write_text("a")
        self.package = folder / "demo"
        self.package.mkdir()
        (self.package / "train.py").write_text(TRAIN)
        (self.package / "settings.py").write_text("END = 'z'")
        (self.package / "sleep.py").write_text("import time; time.sleep(1000)")
        self.line.output(f"fs create {self.fs} local://{self.root}")

    def run(self, words: str) -> Result:
        environ = {"PADDLEFLOW_CONFIG": str(self.line.config), "PADDLEFLOW_PACKAGE_FS": self.fs}
        return CliRunner(env=environ).invoke(paddle, shlex.split(words), prog_name="paddle")

    @property
    def packages(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if "package" in path.name)


@pytest.fixture
def site(job_site: JobSite, tmp_path: Path, plain_environment: None) -> Site:
    return Site(job_site, tmp_path)


def test_the_command_of_the_first_client_trains(site: Site) -> None:
    counts = "--pserver-count=1 --trainer-count=2 --output=/models --input=/in"
    told = site.run(f"k8s job mnist --package-path= {site.package} --module=demo.train {counts} {SMALL} --wait")
    assert told.exit_code == 0, told.output
    found = re.search(r"id\[(job-\w+)\], package\[(.*)\]", told.stdout)
    assert found is not None
    assert found[2] == str(site.root / f"{found[1]}-package")
    assert sorted(os.listdir(found[2])) == ["settings.py", "sleep.py", "train.py"]  # noqa: PTH208
    assert [path.read_text() for path in sorted((site.root / "models").iterdir())] == ["az", "az"]
    lines = site.line.output(f"job logs {found[1]}").splitlines()
    told_to_each = "['--input=/input', '--output=/output']"
    assert sorted(lines) == ["pserver/0: serves", f"worker/0: {told_to_each}", f"worker/1: {told_to_each}"]
    shown = site.line.output(f"job show {found[1]} -fl name,framework -o text")
    assert shown == "mnist\tpaddle\n"


def test_data_are_cut_up_by_a_job_without_counts(site: Site) -> None:
    (site.package / "main.py").write_text(
        "import os; print(os.listdir(os.environ['INPUT']), 'PADDLE_JOB_ID' in os.environ)"
    )
    told = site.run(f"k8s job shard --pcakage-path={site.package} --module-name=demo.main --input=in {SMALL} -w")
    assert told.exit_code == 0, told.output
    id_ = told.stdout.partition("id[")[2].partition("]")[0]
    assert site.line.output(f"job logs {id_}") == "['words'] False\n"


def test_a_job_of_the_same_name_is_refused_before_anything_is_stored(site: Site) -> None:
    words = f"k8s job name-{site.tag} --package-path {site.package} --module sleep {SMALL} -o json"
    [made] = json.loads(site.run(words).stdout)
    before = site.packages
    again = site.run(words)
    assert again.exit_code == 1
    assert f"there is a job 'name-{site.tag}' already, {made['job id']}, which is " in again.stderr
    assert site.packages == before == [f"{made['job id']}-package"]
    site.line.output(f"job stop --now {made['job id']}")
    site.line.run(f"job wait {made['job id']}")
    after = site.run(words)
    assert after.exit_code == 0, after.output
    site.line.output(f"job stop --now {json.loads(after.stdout)[0]['job id']}")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--module train -q nowhere", "no queue 'nowhere'"),
        ("--module train --cpu 100000", "the job asks for 100000 of cpu"),
        ("--module train --fs nowhere", "has no filesystem 'nowhere'"),
        ("--module train --input /nowhere", "input: '/nowhere' is no folder of the filesystem root/"),
        ("--module train --output ../out", "output: '../out' leads out of the filesystem root/"),
        ("--module train --output link/out", "output: 'link/out' leads out of the filesystem root/"),
        ("--module nothing", "has no module nothing"),
    ],
)
def test_what_is_refused_leaves_nothing(site: Site, words: str, why: str) -> None:
    (site.root / "link").symlink_to(site.package)
    told = site.run(f"k8s job x --package-path {site.package} {words}")
    assert (told.exit_code, why in told.stderr) == (1, True), told.output
    assert site.packages == []
    assert not (site.root / "out").exists()


def test_the_package_of_a_job_that_is_refused_in_the_end_is_removed(
    site: Site, monkeypatch: pytest.MonkeyPatch, job_site: JobSite
) -> None:
    # Between the look at the job and its creation somebody else takes the name that was made by chance.
    monkeypatch.setattr("secrets.token_hex", lambda _: job_site.tag)
    made = site.run(f"k8s job a-{site.tag} --package-path {site.package} --module sleep {SMALL}")
    assert made.exit_code == 0, made.output
    (site.root / f"job-{job_site.tag}-package").rename(site.root / "kept")
    told = site.run(f"k8s job b-{site.tag} --package-path {site.package} --module sleep {SMALL}")
    assert (told.exit_code, "choose another id" in told.stderr) == (1, True), told.output
    assert site.packages == []
    site.line.output(f"job stop --now job-{job_site.tag}")


def test_it_is_said_how_to_name_a_filesystem(site: Site) -> None:
    environ = {"PADDLEFLOW_CONFIG": str(site.line.config), "PADDLEFLOW_PACKAGE_FS": ""}
    words = ["k8s", "job", "x", "--package-path", str(site.package), "--module", "train"]
    told = CliRunner(env=environ).invoke(paddle, words)
    assert told.exit_code == 1
    assert "by --fs or by `fs = NAME` in the section [package]" in told.stderr
    assert "; there are data-" in told.stderr
    site.line.config.write_text(site.line.config.read_text() + f"[package]\nfs = {site.fs}\n")
    assert "has no module" in CliRunner(env=environ).invoke(paddle, [*words[:-1], "nothing"]).stderr
    stored = CliRunner(env=environ).invoke(paddle, [*words, "-q", "nowhere"])
    assert "no queue 'nowhere'" in stored.stderr


def test_mpirun_is_what_the_launcher_of_an_mpi_job_runs(site: Site) -> None:
    told = site.run(
        f"mpi job m-{site.tag} --package-path {site.package} --module train --trainer-count 2 {SMALL} -o json"
    )
    assert told.exit_code == 0, told.output
    [job] = json.loads(told.stdout)
    assert job["framework"] == "mpi"
    roles = {member["role"]: member for member in job["members"]}
    assert roles["worker"]["replicas"] == 2
    assert roles["master"]["args"][:3] == ["mpirun", "-np", "2"]
    deadline = time.monotonic() + PATIENCE
    while site.line.run(f"job delete {job['job id']}").exit_code:
        site.line.run(f"job stop --now {job['job id']}")
        assert time.monotonic() < deadline
    refused = site.run(f"mpi job m --package-path {site.package} --module train --trainer-count 2 --fault-tolerant")
    assert (refused.exit_code, "--fault-tolerant is for k8s" in refused.stderr) == (2, True)
