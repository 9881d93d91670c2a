"""URLs and paths as hostile callers write them, and the rules that folders are judged by."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fs.paths import local_folder, sub_path, sub_path_violations, url_violations
from pf_fs.rules import NEVER, Rules, is_below, roots_of

HOSTILE = st.text(
    st.one_of(st.sampled_from("/.\0 \n~$%5cäß日\u202e\u200b\ufeff\\:"), st.characters(codec="utf-8")), max_size=60
)
PARTS = st.sampled_from(["", ".", "..", "...", "a", "b c", "-", "~", "日本", "x" * 255, "x" * 256, "a\0b", "\u202e"])
PATHS = st.one_of(HOSTILE, st.lists(PARTS, max_size=20).map("/".join))


def url_problems(url: str) -> list[str]:
    return [violation.description for violation in url_violations("url", url)]


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("local:///data/images", "/data/images"),
        ("local:///data//images/./x/", "/data/images/x"),
        ("local:////data", "/data"),
        ("local:///a b/日本", "/a b/日本"),
        ("local:///%2e%2e/x", "/%2e%2e/x"),
        ("local:///.../~", "/.../~"),
    ],
)
def test_a_local_url_names_a_folder(url: str, folder: str) -> None:
    assert url_problems(url) == []
    assert local_folder(url) == PurePosixPath(folder)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "must be a URL"),
        ("/data", "must be a URL"),
        ("local:/data", "must be a URL"),
        ("LOCAL:///data", "must be a URL"),
        ("://x", "must be a URL"),
        ("local://", "absolute path"),
        ("local://data/x", "absolute path"),
        ("local:///", "root of the machine"),
        ("local:////.//", "root of the machine"),
        ("local:///data/../etc", "'..'"),
        ("local:///..", "'..'"),
        ("local:///a\0b", "control characters"),
        ("local:///a\nb", "control characters"),
        ("local:///a\u202eb", "do not show"),
        ("local:///" + "x" * 256, "255 bytes"),
        ("local:///" + "日" * 86, "255 bytes"),
        ("local:///" + "x/" * 3000, "4095 bytes"),
        ("s3://bucket", "s3 is not served; served are: local"),
        ("nonsense://x", "nonsense is not served"),
    ],
)
def test_other_urls_are_refused_with_the_reason(url: str, problem: str) -> None:
    assert any(problem in found for found in url_problems(url)), url_problems(url)


@pytest.mark.parametrize(("path", "problem"), [("/x", "relative"), ("a/../b", "'..'"), ("a\0", "control")])
def test_a_path_in_a_filesystem_begins_there_and_stays_there(path: str, problem: str) -> None:
    assert any(problem in violation.description for violation in sub_path_violations("sub_path", path))


@given(PATHS)
def test_a_url_without_violations_names_a_plain_folder_below_the_root(path: str) -> None:
    url = f"local://{path}"
    if url_problems(url):
        return
    folder = local_folder(url)
    assert folder.is_absolute()
    assert folder != PurePosixPath("/")
    assert str(folder) == os.path.normpath(str(folder))
    assert not str(folder).startswith("//")
    assert str(folder).isprintable()


@given(PATHS)
def test_a_path_without_violations_stays_below_where_it_begins(path: str) -> None:
    if list(sub_path_violations("sub_path", path)):
        return
    below = sub_path(path)
    assert not below.is_absolute()
    whole = PurePosixPath("/data/x") / below
    assert whole.is_relative_to("/data/x")
    assert str(whole) == os.path.normpath(str(whole))


@given(st.lists(st.sampled_from(["a", "b", "etc", "proc", "root", ".ssh", "data"]), min_size=1, max_size=5))
def test_a_folder_is_refused_if_and_only_if_it_touches_a_forbidden_one(parts: list[str]) -> None:
    folder = PurePosixPath("/", *parts)
    rules = Rules((*NEVER, PurePosixPath("/data/a")))
    touches = any(
        str(forbidden).startswith(f"{folder}/") or f"{folder}/".startswith(f"{forbidden}/")
        for forbidden in rules.forbidden
    )
    assert (rules.objection(folder) is not None) == (touches or ".ssh" in parts)


@pytest.mark.parametrize("folder", ["/etc", "/etc/x", "/proc/1/root", "/var", "/root", "/home/al/.ssh/x", "/a/.kube"])
def test_what_is_never_shared(folder: str) -> None:
    assert Rules().objection(PurePosixPath(folder)) is not None


@pytest.mark.parametrize("folder", ["/data", "/etcetera", "/root/data", "/home/alice", "/a/ssh", "/mnt/x"])
def test_what_looks_like_it_and_is_not(folder: str) -> None:
    assert Rules().objection(PurePosixPath(folder)) is None


def test_users_have_folders_of_their_own() -> None:
    roots = roots_of("alice", ["/data/{user}", "/shared"])
    assert roots == (PurePosixPath("/data/alice"), PurePosixPath("/shared"))
    for folder, allowed in {
        "/data/alice": 1,
        "/data/alice/x": 1,
        "/data/alice2": 0,
        "/data": 0,
        "/shared/y": 1,
    }.items():
        assert is_below(PurePosixPath(folder), roots) == bool(allowed), folder
