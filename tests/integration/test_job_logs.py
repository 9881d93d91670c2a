"""Logs of jobs over a socket: from the head, from the tail, by time, by text, and what is not kept of them."""

from __future__ import annotations

import os
import time

import pytest

from fixtures_jobs import JobSite
from paddleflow.job.v1 import log_pb2, spec_pb2
from paddleflow.problems import InvalidArgument, JobNotFound, NotFound, PageTokenInvalid
from pf_job.runtimes.local.kernel import punch_hole
from support.job_logs import ask, chunks, create, file_of, over, read, running, wrote
from support.waiting import until

TWO_WORKERS = [spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, command="echo I am $PF_JOB_ID; seq 3")]


async def test_a_log_is_read_from_the_head_and_from_the_tail(job_site: JobSite) -> None:
    root, made = job_site.root, await wrote(job_site, "seq 100")
    whole = b"".join(b"%d\n" % n for n in range(1, 101))
    assert await read(root, made) == whole
    assert await read(root, made, max_lines=3) == b"1\n2\n3\n"
    assert await read(root, made, max_bytes=5) == b"1\n2\n3"
    assert await read(root, made, tail_lines=2) == b"99\n100\n"
    assert await read(root, made, tail_lines=2, max_lines=1) == b"99\n"
    assert await read(root, made, tail_bytes=5) == b"\n100\n"
    assert await read(root, made, offset=len(whole) - 4) == b"100\n"
    assert await read(root, made, offset=2**60) == b""
    assert await read(root, made, tail_lines=0) == b""
    assert await read(root, made, tail_lines=1_000_000) == await read(root, made, tail_bytes=2**60) == whole


async def test_lines_are_searched(job_site: JobSite) -> None:
    root, made = job_site.root, await wrote(job_site, "seq 2000; echo 'Loss: 0.5 at step 7'; echo LOSS: 1 at 8")
    search = log_pb2.LogSearch(texts=["loss*step", "1999"], ignore_case=True)
    assert await read(root, made, search=search) == b"1999\nLoss: 0.5 at step 7\n"
    assert await read(root, made, search=search, tail_lines=1) == b"Loss: 0.5 at step 7\n"
    assert await read(root, made, search=log_pb2.LogSearch(texts=["LOSS"])) == b"LOSS: 1 at 8\n"
    assert await read(root, made, search=log_pb2.LogSearch(texts=["nowhere"])) == b""


async def test_bytes_stay_what_they_are(job_site: JobSite) -> None:
    made = await wrote(job_site, r"printf 'a\r\n\377\376\0z\r50%%\r100%%'; head -c 600000 /dev/zero; printf '\nend'")
    told = await chunks(job_site.root, made)
    assert b"".join(chunk.data for chunk in told) == b"a\r\n\xff\xfe\0z\r50%\r100%" + bytes(600_000) + b"\nend"
    assert max(len(chunk.data) for chunk in told) <= 262_144
    assert [chunk.offset for chunk in told] == [0, *(chunk.position.offset for chunk in told[:-1])]
    assert [chunk.position.end for chunk in told] == [False] * (len(told) - 1) + [True]


async def test_a_part_is_chosen_by_time(job_site: JobSite) -> None:
    root, made = job_site.root, await create(job_site, "echo early; sleep 3; date +%s%N; sleep 6; echo late")
    await over(job_site, made)
    middle = int((await read(root, made, offset=6)).split(b"\n")[0])
    begin, end = log_pb2.ReadLogRequest(), log_pb2.ReadLogRequest()
    begin.since.FromNanoseconds(middle)
    end.until.FromNanoseconds(middle)
    told = await read(root, made, since=begin.since)
    assert told.endswith(b"late\n")
    assert b"early" not in told
    assert (await read(root, made, until=end.until)).startswith(b"early\n%d\n" % middle)
    end.until.FromNanoseconds(middle - 10 * 10**9)
    assert await read(root, made, until=end.until) == b""
    begin.since.FromSeconds(int(time.time()) + 1000)
    assert await read(root, made, since=begin.since) == b""


async def test_what_is_not_kept_is_told(job_site: JobSite) -> None:
    root, made = job_site.root, await wrote(job_site, "seq -w 10000")
    with file_of(job_site, made).open("r+b") as log:
        punch_hole(log.fileno(), 0, 40_960)
    told = await chunks(root, made)
    assert (told[0].lost, told[0].offset) == (40_960, 40_960)
    assert sum(chunk.lost for chunk in told[1:]) == 0
    assert b"".join(chunk.data for chunk in told).endswith(b"09999\n10000\n")
    assert len(await read(root, made, tail_lines=10_000)) == 60_000 - 40_960
    assert (await chunks(root, made, offset=40_000, max_bytes=1))[0].lost == 960
    info = (await root(log_pb2.GetLogInfoRequest(choice=ask(made).choice))).logs[0]
    assert (info.size, info.kept_from, info.complete) == (60_000, 40_960, True)
    assert info.lines == 3174


async def test_replicas_are_told_apart(job_site: JobSite) -> None:
    job = await create(job_site, "", framework=spec_pb2.FRAMEWORK_PADDLE, members=TWO_WORKERS)
    await over(job_site, job)
    told = await chunks(job_site.root, job)
    assert [chunk.position.replica.index for chunk in told if chunk.data] == [0, 1]
    assert {chunk.data for chunk in told if chunk.data} == {b"I am %s\n1\n2\n3\n" % job.encode()}
    one = await chunks(job_site.root, job, role=spec_pb2.ROLE_WORKER, index=1, tail_lines=1)
    assert [(chunk.position.replica.index, chunk.data) for chunk in one if chunk.data] == [(1, b"3\n")]
    first = await job_site.root(log_pb2.GetLogInfoRequest(choice=ask(job).choice, page_size=1))
    request = log_pb2.GetLogInfoRequest(choice=ask(job).choice, page_token=first.next_page_token)
    rest = await job_site.root(request)
    assert [info.replica.index for page in (first, rest) for info in page.logs] == [0, 1]
    with pytest.raises(PageTokenInvalid):
        await job_site.root(log_pb2.GetLogInfoRequest(choice=ask(job, index=0).choice, page_token="x"))


async def test_what_is_not_there_is_refused(job_site: JobSite) -> None:
    root, made = job_site.root, await wrote(job_site, "true")
    with pytest.raises(JobNotFound):
        await read(root, "nobody")
    for choice in ({"attempt": 2}, {"index": 1}, {"restart": 1}, {"role": spec_pb2.ROLE_WORKER}):
        with pytest.raises(NotFound):
            await read(root, made, **choice, follow=True)
        with pytest.raises(NotFound):
            await root(log_pb2.GetLogInfoRequest(choice=ask(made, **choice).choice))
    assert await read(root, made) == b""


async def test_hostile_values_are_refused_by_name(job_site: JobSite) -> None:
    replica = log_pb2.LogReplica(attempt=0, role=99, index=-1)  # type: ignore[arg-type]
    choice = log_pb2.LogChoice(id="a\0b", attempt=-1, role=77, index=-1, restart=-5)  # type: ignore[arg-type]
    request = log_pb2.ReadLogRequest(
        choice=choice,
        tail_lines=-1,
        max_lines=-(2**63),
        max_bytes=2**63 - 1,
        later=True,
        search=log_pb2.LogSearch(texts=["**", "a\nb", "é" * 513, *"x" * 20]),
        positions=[log_pb2.LogPosition(replica=replica, offset=-1)],
    )
    with pytest.raises(InvalidArgument) as refused:
        [chunk async for chunk in job_site.root.watch(request)]
    assert {violation.field for violation in refused.value.violations} == {
        *("choice.id", "choice.role", "choice.attempt", "choice.index", "choice.restart"),
        *("tail_lines", "max_lines", "max_bytes", "later", "positions"),
        *("search.texts", "search.texts[0]", "search.texts[1]", "search.texts[2]"),
    }
    far = log_pb2.ReadLogRequest(choice=log_pb2.LogChoice(id="x"))
    far.since.seconds = 2**60
    with pytest.raises(InvalidArgument):
        [chunk async for chunk in job_site.root.watch(far)]


async def test_the_tail_of_a_large_log_is_found_at_once(job_site: JobSite) -> None:
    made = await create(job_site, "echo first; sleep 1000")
    await running(job_site, made)
    await until(lambda: file_of(job_site, made).stat().st_size == len("first\n"))
    with file_of(job_site, made).open("r+b") as log:
        log.truncate(2**30 - 9)
        os.lseek(log.fileno(), 0, os.SEEK_END)
        os.write(log.fileno(), b"\nthe last")
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        assert await read(job_site.root, made, tail_lines=1) == b"the last"
        times.append(time.perf_counter() - begun)
    # The best of some, as the machine has other things to do: to read it all would always take a second.
    assert min(times) < 0.1
