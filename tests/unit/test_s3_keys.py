"""Which keys of a store are files."""

from __future__ import annotations

import errno

import pytest

from pf_backends.s3.keys import PROBE, Keys


@pytest.mark.parametrize("top", ["", "data/set"])
def test_what_tries_a_store_out_is_no_file_of_anybody(top: str) -> None:
    keys = Keys(top)
    assert keys.path(keys.of(f"{PROBE}0123")) is None
    assert keys.path(keys.of(f"folder/{PROBE}0123")) == f"folder/{PROBE}0123"
    assert keys.path(keys.of("a/b")) == "a/b"


def test_keys_beside_the_prefix_are_no_files() -> None:
    assert Keys("data").path("database") is None
    assert Keys("data").path("data/a//b") is None


@pytest.mark.parametrize("top", ["", "data", "Größe"])
def test_the_longest_path_depends_on_the_prefix(top: str) -> None:
    keys = Keys(top)
    assert keys.of("x" * keys.longest).endswith("x")
    with pytest.raises(OSError, match="key of more than") as refused:
        keys.of("x" * (keys.longest + 1))
    assert refused.value.errno == errno.ENAMETOOLONG
