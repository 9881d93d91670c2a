"""Options of pipelines and steps, as the language writes them."""

from __future__ import annotations

from typing import Any

import pytest

from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline import (
    FAIL_CONTINUE,
    FAIL_FAST,
    Approval,
    CacheOptions,
    ContainerStep,
    ExtraFS,
    FailureOptions,
    FSOptions,
    FSScope,
    MainFS,
    Retry,
)


def test_cache_options() -> None:
    assert CacheOptions().compile() == {"enable": False, "max_expired_time": -1}
    scope = FSScope("pantry", "/a,/b")
    assert CacheOptions(True, [scope], 60).compile() == {
        "enable": True,
        "fs_scope": [{"name": "pantry", "path": "/a,/b"}],
        "max_expired_time": 60,
    }
    assert CacheOptions(None, FSScope("pantry"), None).compile() == {"fs_scope": [{"name": "pantry"}]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fs_scope": "/a"}, "FSScope"),
        ({"fs_scope": [FSScope("")]}, "names no filesystem"),
        ({"mode": "date"}, "content, mtime"),
        ({"share": "all"}, "source, pipeline, owner"),
    ],
)
def test_cache_options_that_make_no_sense(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PaddleFlowSDKException, match=said):
        CacheOptions(True, **given).compile()


def test_failure_options() -> None:
    assert FailureOptions().compile() == {"strategy": FAIL_FAST} == {"strategy": "fail_fast"}
    assert FailureOptions(strategy=FAIL_CONTINUE).compile() == {"strategy": "continue"}
    with pytest.raises(PaddleFlowSDKException, match="fail_fast or continue"):
        FailureOptions("stop")


def test_filesystems() -> None:
    main, extra = MainFS("a", "sub", "/here"), ExtraFS("b", read_only=True)
    assert FSOptions(main, [extra]).compile() == {
        "main_fs": {"name": "a", "sub_path": "sub", "mount_path": "/here"},
        "extra_fs": [{"name": "b", "read_only": True}],
    }
    assert FSOptions(extra_fs=extra).extra_fs == [extra]
    assert FSOptions().compile() == {}


def test_filesystems_that_are_none() -> None:
    options = FSOptions(MainFS("a"))
    for given in ({"main_fs": "a"}, {"main_fs": ExtraFS("a")}, {"extra_fs": "a"}, {"extra_fs": [1]}):
        with pytest.raises(PaddleFlowSDKException, match="has to be"):
            FSOptions(**given)
    options.main_fs = "a"  # type: ignore[assignment]
    with pytest.raises(PaddleFlowSDKException, match="MainFS"):
        options.compile()
    for filesystem in (MainFS(""), ExtraFS(""), ExtraFS("a", read_only=1)):  # type: ignore[arg-type]
        with pytest.raises(PaddleFlowSDKException, match=r"names no filesystem|True or False"):
            filesystem.compile()


def test_filesystems_of_a_step() -> None:
    extra = ExtraFS("a")
    step = ContainerStep(name="one", extra_fs=extra)
    assert step.extra_fs == [extra]
    with pytest.raises(PaddleFlowSDKException, match="extra_fs of one"):
        ContainerStep(name="one", extra_fs="a")  # type: ignore[arg-type]


def test_retries_and_approvals() -> None:
    assert Retry(2).compile() == {"limit": 2}
    tried = ContainerStep(name="one", retry=2).retry
    assert tried is not None
    assert tried.compile() == {"limit": 2}
    assert Retry(1, backoff="5s", jitter=0).compile() == {"limit": 1, "backoff": "5s", "jitter": 0}
    assert Approval().compile() == {}
    assert Approval(["ada"], message="go?").compile() == {"users": ["ada"], "message": "go?"}
    for wrong in ({"limit": -1}, {"limit": 1, "jitter": 2}, {"limit": 1, "backoff": "soon"}):
        with pytest.raises(PaddleFlowSDKException, match="Retry"):
            Retry(**wrong)
