"""Logs of jobs through the SDK and on the command line."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import paddleflow as pf
from fixtures_jobs import JobSite
from paddleflow.aio import AsyncPaddleFlow
from paddleflow.compat.logs import LogInfoByLimit
from paddleflow.job.v1 import spec_pb2
from paddleflow.models import LogInfo, LogReplica, Role
from paddleflow.problems import InvalidArgument, JobNotFound
from paddleflow.sync import PaddleFlow
from support.command_line import CommandLine
from support.job_logs import create, running, wrote
from support.queue_process import ROOT_PASSWORD

PAIR = [spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, command="seq 2; printf end")]


@pytest.fixture
def line(job_site: JobSite, tmp_path: Path, plain_environment: None) -> CommandLine:
    address = job_site.process.queue.address
    return CommandLine.configured(tmp_path, address, password=ROOT_PASSWORD, services=job_site.services)


async def test_logs_are_read_from_programs(job_site: JobSite) -> None:
    made = await wrote(job_site, "seq 5")
    with PaddleFlow(job_site.connection()) as client:
        (chunk, end) = list(client.logs.read(made, tail_lines=2))
        assert (chunk.replica, chunk.offset, chunk.data) == (LogReplica(1, Role.MAIN, 0), 6, b"4\n5\n")
        assert (end.data, end.end) == (b"", True)
        assert list(client.logs.info(made)) == [LogInfo(chunk.replica, 10, 0, True, 5)]
        assert [each.data for each in client.logs.read(made, texts=["3"], max_lines=1)] == [b"3\n"]
        yesterday = datetime.now(UTC) - timedelta(days=1)
        assert [each.data for each in client.logs.read(made, until=yesterday)] == [b""]
        assert b"".join(each.data for each in client.logs.read(made, since=yesterday)) == b"1\n2\n3\n4\n5\n"
        assert [each.data for each in client.logs.read(made, tail_bytes=1)] == [b"\n", b""]
        assert [each.data for each in client.logs.read(made, offset=9)] == [b"\n", b""]
        with pytest.raises(InvalidArgument):
            list(client.logs.read(made, offset=1, tail_lines=1))
        with pytest.raises(JobNotFound):
            list(client.logs.read("nobody"))


async def test_following_goes_on_when_the_service_is_started_again(job_site: JobSite) -> None:
    made = await create(job_site, "for i in $(seq 40); do echo $i; sleep 0.1; done")
    await running(job_site, made)
    data = b""
    async with AsyncPaddleFlow(job_site.connection()) as client:
        async for chunk in client.logs.read(made, follow=True):
            data += chunk.data
            if data == b"1\n2\n3\n":
                await asyncio.to_thread(job_site.process.kill)
                await asyncio.to_thread(job_site.process.start)
    assert data == b"".join(b"%d\n" % n for n in range(1, 41))


async def test_logs_are_printed(job_site: JobSite, line: CommandLine) -> None:
    made = await wrote(job_site, "seq 5; printf end")
    assert line.output(f"job logs {made}") == "1\n2\n3\n4\n5\nend"
    assert line.output(f"job logs {made} --tail 2 --head 1") == "5\n"
    assert line.output(f"job logs {made} -f --later --grep e*D --grep 3 -i") == "3\nend"
    assert line.output(f"job logs {made} --task main/0 --attempt 1 --restart 0 --since 1h --until 1s") is not None
    assert json.loads(line.output(f"job logs {made} --tail 1 -o json")) == {
        "attempt": 1,
        "role": "main",
        "index": 0,
        "restart": 0,
        "line": "end",
    }


async def test_lines_of_several_say_whose_they_are(job_site: JobSite, line: CommandLine) -> None:
    made = await wrote(job_site, "", framework=spec_pb2.FRAMEWORK_PADDLE, members=PAIR)
    each = ["worker/{}: 1", "worker/{}: 2", "worker/{}: end"]
    lines = [text.format(n) for n in range(2) for text in each]
    assert line.output(f"job logs {made}").splitlines() == lines
    assert sorted(line.output(f"job logs {made} --follow --task worker").splitlines()) == sorted(lines)
    assert line.output(f"job logs {made} --task worker/1") == "1\n2\nend"


async def test_the_original_command_prints_logs(job_site: JobSite, line: CommandLine) -> None:
    made = await wrote(job_site, "seq 5")
    assert line.output(f"log job -j {made} -l 2") == "1\n2\n"
    assert line.output(f"log job -j {made} -f paddle -r yes -l 2 -s 1G") == "4\n5\n"
    assert line.output(f"log job -j {made} -s 3B") == "1\n2"
    assert line.output(f"log showlimit -j {made} -r yes -l 1") == "5\n"
    assert line.run(f"log job -j {made} -s much").exit_code == 2


async def test_programs_of_the_original_read_logs(job_site: JobSite, plain_environment: None) -> None:
    made = await wrote(job_site, "seq 5")
    client = pf.Client(job_site.process.queue.address, "root", ROOT_PASSWORD)
    client._paddleflow = PaddleFlow(job_site.connection())  # noqa: SLF001 - its services have no usual addresses here
    ok, first = client.show_log_by_limit(job_id=made, line_limit="2", size_limit="1K", framework="paddle")
    assert isinstance(first, dict)
    assert (ok, [event.split()[1] for event in first["eventList"]][:2]) == (True, ["accepted", "admitted"])
    assert first["logs"] == [
        LogInfoByLimit(
            job_id=made,
            task_id="1/main/0",
            name="",
            has_next_page=True,
            truncated=True,
            line_limit=2,
            size_limit="1K",
            log_content="1\n2\n",
        )
    ]
    ok, last = client.show_log_by_limit(made, read_from_tail=True, line_limit=1)
    assert isinstance(last, dict)
    [log] = last["logs"]
    assert (log.log_content, log.has_next_page, log.truncated) == ("5\n", False, True)
    ok, whole = client.show_log_by_limit(made)
    assert isinstance(whole, dict)
    assert (whole["logs"][0].log_content, whole["logs"][0].truncated) == ("1\n2\n3\n4\n5\n", False)
    assert client.show_log_by_limit("nobody") == (False, "no job 'nobody'")
    for wrong in ({"line_limit": "-1"}, {"line_limit": "many"}, {"size_limit": "much"}):
        assert client.show_log_by_limit(made, **wrong)[0] is False
    assert client.show_log_by_limit(name="pod-1")[0] is False
    client.close()


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("--later", 2),
        ("--tail 1 --since 1h", 2),
        ("--task worker/x", 2),
        ("--task nobody", 1),
        ("--task worker/0", 1),
        ("--attempt 2", 1),
        ("--since yesterday", 1),
        ("--grep *", 1),
    ],
)
async def test_what_cannot_be_is_refused(job_site: JobSite, line: CommandLine, options: str, status: int) -> None:
    made = await wrote(job_site, "true")
    result = line.run(f"job logs {made} {options}")
    assert (result.exit_code, result.stdout) == (status, ""), result.output
