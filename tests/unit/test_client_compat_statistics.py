"""The original's calls about statistics: their results and their messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import paddleflow
from paddleflow.compat.statistics_infos import CardTimeInfo, StatisticsJobDetailInfo, StatisticsJobInfo
from paddleflow.job.v1 import statistics_pb2 as pb
from support.fake_jobs import employ
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import BEGAN, PASSWORD
from support.fake_statistics import GPU, MIB, measure


@pytest.fixture
def client(fake: FakePaddleFlow, plain_environment: None) -> Iterator[paddleflow.Client]:
    employ(fake.world)
    measure(fake.world)
    opened = paddleflow.Client(fake.address, "root", PASSWORD)
    yield opened
    opened.close()


def test_averages_are_texts_with_units(client: paddleflow.Client) -> None:
    ok, info = client.get_statistics("trained")
    assert ok
    assert isinstance(info, StatisticsJobInfo)
    assert info.metrics_info == {
        "cpu_usage_rate": "100.00%",
        "memory_usage_rate": "9.77%",
        "gpu_util": "50.00%",
        "memory_usage": f"{100 * MIB}.00(Bytes)",
        "gpu_memory_usage": "N/A",
        "net_receive_bytes": "N/A",
        "net_send_bytes": "N/A",
        "disk_read_rate": "N/A",
        "disk_write_rate": f"{MIB}.00(B/s)",
        "disk_usage": "N/A",
        "gpu_memory_util": "N/A",
    }
    assert client.get_statistics("nowhere") == (False, "no job 'nowhere'")
    assert client.get_statistics("trained", "run-1")[0] is False


def test_details_are_pairs_of_time_and_value(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    ok, info, truncated = client.get_statistics_detail("trained", start=1767323045, end="2026-01-02 12:00:00", step=60)
    assert (ok, truncated) == (True, True)
    assert isinstance(info, StatisticsJobDetailInfo)
    assert info.truncated
    assert [each.task_name for each in info.result] == ["worker-0", "worker-1"]
    told = {each.metric: each.values for each in info.result[0].task_info}
    assert told["cpu_usage_rate"] == [[BEGAN.seconds, 0.125], [BEGAN.seconds + 60, 0.5]]
    assert told["memory_usage"] == [[BEGAN.seconds + 60, 64.0 * MIB], [BEGAN.seconds + 120, 128.0 * MIB]]
    [asked] = fake.world.asked(pb.GetJobSeriesRequest)
    assert (asked.start.seconds, asked.step.seconds) == (1767323045, 60)
    assert client.get_statistics_detail("trained", start="soon")[::2] == (False, False)
    assert client.get_statistics_detail("waits") == (True, StatisticsJobDetailInfo([], truncated=False), False)


def test_card_times_are_hours_by_queue_user_and_job(client: paddleflow.Client) -> None:
    ok, info = client.get_cardtime_by_queue_name(["busy"], "2026-01-01 00:00:00", "2026-02-01 00:00:00")
    assert ok
    assert isinstance(info, CardTimeInfo)
    [queue] = info.data
    assert (queue.queue_name, queue.card_time, queue.device_type) == ("busy", 2.5, GPU)
    [user] = queue.detail
    assert (user.user_name, user.job_count, user.total_card_time) == ("alice", 2, 2.5)
    assert [(job.job_id, job.card_time, job.device_count) for job in user.job_info_list] == [
        ("other", 0.5, 1),
        ("trained", 2.0, 2),
    ]
    assert [bool(job.finish_time) for job in user.job_info_list] == [False, True]
    assert client.get_cardtime_by_queue_name(["idle"], 1767323045, 1767323046) == (True, CardTimeInfo([]))
    assert client.get_cardtime_by_queue_name(["busy"], "then", "now")[0] is False
