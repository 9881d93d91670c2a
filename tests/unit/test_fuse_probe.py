"""What is said of features that are there and of those that are not."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pf_fuse.kernel.features import LINUX, USUAL, Agreement, Feature, Offer, agree
from pf_fuse.kernel.probe import GOOD_FOR, Finding, of_cache, of_feature, of_flushes, of_read_ahead


def agreement(linux: str) -> Agreement:
    return agree(Offer(7, 45, 0, Feature(2**42 - 1)).as_of(LINUX[linux]), USUAL)


class Registering:
    """A kernel that takes files, or fails with a number."""

    def __init__(self, number: int = 0) -> None:
        self._number = number

    def register(self, descriptor: int) -> int:
        if self._number:
            raise OSError(self._number, "refused")
        return 5

    def unregister(self, backing: int) -> None:
        assert backing == 5


def test_a_new_kernel_has_all() -> None:
    assert all(of_feature(feature, agreement("6.9")).usable for feature in GOOD_FOR)


@pytest.mark.parametrize(
    ("linux", "feature", "says"),
    [
        pytest.param("6.1", Feature.PASSTHROUGH, "it takes Linux 6.9", id="passthrough"),
        pytest.param("6.6", Feature.RESEND, "it takes Linux 6.9", id="resend"),
        pytest.param("6.1", Feature.EXPIRE_ONLY, "it takes Linux 6.2", id="expire"),
        pytest.param("6.9", Feature.WRITEBACK_CACHE, "this kernel does not offer it, or it was not wanted", id="other"),
    ],
)
def test_what_is_missing_says_what_it_takes(linux: str, feature: Feature, says: str) -> None:
    found = of_feature(feature, agreement(linux))
    assert found == Finding(str(feature.name).lower(), False, says)


def test_flushes_are_spared_from_a_version_on() -> None:
    assert of_flushes(agreement("6.1")).usable
    assert "5.16" in of_flushes(agreement("5.15")).why


@pytest.mark.parametrize(("kilobytes", "usable"), [(None, False), (128, False), (1024, True), (4096, True)])
def test_how_far_is_read_ahead_is_judged(kilobytes: int | None, usable: bool) -> None:
    assert of_read_ahead(kilobytes).usable is usable


@pytest.mark.parametrize(
    ("number", "says"),
    [
        pytest.param(errno.ELOOP, "overlayfs", id="stacked"),
        pytest.param(errno.EPERM, "CAP_SYS_ADMIN", id="no right"),
        pytest.param(errno.ENOMEM, "memory", id="anything else"),
    ],
)
def test_a_cache_that_the_kernel_cannot_read_says_why(tmp_path: Path, number: int, says: str) -> None:
    found = of_cache(tmp_path, Registering(number))
    assert not found.usable
    assert says in found.why


def test_a_cache_that_the_kernel_reads_is_found(tmp_path: Path) -> None:
    assert of_cache(tmp_path, Registering()).usable
    assert "CAP_SYS_ADMIN" in of_cache(tmp_path, None).why
    assert "No such file" in of_cache(tmp_path / "missing", Registering()).why
