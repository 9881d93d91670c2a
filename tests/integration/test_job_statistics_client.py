"""What jobs used and held, through the SDK and on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import paddleflow as pf
from fixtures_jobs import JobSite
from paddleflow.aio import AsyncPaddleFlow
from paddleflow.compat.statistics_infos import StatisticsJobInfo
from paddleflow.job.v1 import job_pb2
from paddleflow.models import CardTimeGroup, Metric, Role
from paddleflow.problems import InvalidArgument, JobNotFound
from paddleflow.sync import PaddleFlow
from support.command_line import CommandLine
from support.job_logs import create, over, running, wrote
from support.queue_process import ROOT_PASSWORD
from support.waiting import until

BUSY = "python3 -c 'import time\nwhile time.process_time() < 0.4: pass'"


@pytest.fixture
def line(job_site: JobSite, tmp_path: Path, plain_environment: None) -> CommandLine:
    address = job_site.process.queue.address
    return CommandLine.configured(tmp_path, address, password=ROOT_PASSWORD, services=job_site.services)


async def test_statistics_are_asked_for_from_programs(job_site: JobSite) -> None:
    made = await wrote(job_site, BUSY)
    with PaddleFlow(job_site.connection()) as client:
        found = client.statistics.job(made)
        cpu = found.metrics[Metric.CPU]
        assert cpu.total is not None
        assert cpu.total > 0.3
        assert [(task.role, task.index, task.metrics) for task in found.tasks] == [(Role.MAIN, 0, found.metrics)]
        (series,) = client.statistics.series(made, timedelta(seconds=1))
        assert series.step == timedelta(seconds=1)
        assert series.values[Metric.CPU][0] is not None
        (held,) = [each for each in client.statistics.card_times(CardTimeGroup.JOB) if each.job == made]
        assert held.core_seconds == pytest.approx(held.seconds / 10)
        early = client.statistics.job(made, end=datetime.now(UTC) - timedelta(hours=1))
        assert (early.metrics, [task.metrics for task in early.tasks]) == ({}, [{}])
        with pytest.raises(JobNotFound):
            client.statistics.job("nobody")
        with pytest.raises(InvalidArgument):
            client.statistics.job(made, start=datetime(2026, 5, 1))  # noqa: DTZ001 - this is what is refused
    async with AsyncPaddleFlow(job_site.connection()) as later:
        assert (await later.statistics.job(made)).metrics == found.metrics
        page = await later.statistics.card_time_page(CardTimeGroup.JOB, 1)
        assert len(page.items) == 1


async def test_statistics_are_printed(job_site: JobSite, line: CommandLine) -> None:
    made = await wrote(job_site, BUSY)
    rows = {each["metric"]: each for each in json.loads(line.run(f"statistics job {made} -o json").stdout)}
    assert rows["cpu"]["task"] == "main/0"
    assert rows["cpu"]["asked"] == 0.1
    assert rows["cpu"]["total"] > 0.3
    steps = json.loads(line.run(f"statistics job {made} --detail --step 1 -o json").stdout)
    assert steps[0]["cpu"] > 0
    held = json.loads(line.run("statistics card-time --by job -s 1h -m 1000 -o json").stdout)
    assert made in [each["job id"] for each in held]
    assert line.run("statistics job nobody").exit_code == 1


async def test_what_runs_is_shown_with_what_it_uses(job_site: JobSite, line: CommandLine) -> None:
    made = await create(job_site, "sleep 60")
    await running(job_site, made)

    def used() -> str:
        told = json.loads(line.output("job top --usage -m 1000 -o json"))
        return next((str(each["memory"]) for each in told if each["job id"] == made), "")

    await until(lambda: "/1Mi" in used(), patience=20)
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))
    await over(job_site, made)


async def test_programs_of_the_original_ask_as_before(job_site: JobSite, plain_environment: None) -> None:
    made = await wrote(job_site, "sleep 0.1")
    client = pf.Client(job_site.process.queue.address, "root", ROOT_PASSWORD)
    client._paddleflow = PaddleFlow(job_site.connection())  # noqa: SLF001 - its services have no usual addresses here
    ok, info = client.get_statistics(made)
    assert ok
    assert isinstance(info, StatisticsJobInfo)
    assert info.metrics_info["cpu_usage_rate"].endswith("%")
    assert client.get_statistics_detail(made)[0] is True
    assert client.get_cardtime_by_queue_name(["default-queue"], "2026-01-01 00:00:00", "2100-01-01 00:00:00")[0] is True
    client.close()
