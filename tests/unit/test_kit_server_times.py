"""Times that callers give."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.problems import InvalidArgument
from pf_kit.times import time_of


def test_a_time_is_in_utc() -> None:
    assert time_of("since", Timestamp(seconds=86_400)) == datetime(1970, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 253_402_300_800, -62_135_596_801])
def test_what_is_no_time_is_refused(seconds: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        time_of("since", Timestamp(seconds=seconds))
    assert [violation.field for violation in refused.value.violations] == ["since"]
