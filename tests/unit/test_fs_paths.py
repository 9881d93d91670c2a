"""URLs and paths as hostile callers write them, and the rules that folders are judged by."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fs.domain import Kind
from pf_fs.mounted import mounted_of
from pf_fs.paths import sub_path, sub_path_violations
from pf_fs.rules import NEVER, Rules, is_below, roots_of
from pf_fs.urls import host_of, place_of, url_violations

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
    assert place_of(url).path == PurePosixPath(folder)


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
        ("mock://bucket", "mock is not served; served are: local, s3"),
        ("nonsense://x", "nonsense is not served"),
        ("s3://", "as in s3://bucket/path"),
        ("s3:///path", "as in s3://bucket/path"),
        ("s3://user:word@bucket/x", "as in s3://bucket/path"),
        ("s3://bucket/a/../b", "'..'"),
        ("s3://bucket/a?versions", "must not contain any of"),
        ("s3://bucket/a#b", "must not contain any of"),
        ("bos://b/x\r\ny", "control characters"),
        ("hdfs://namenode/path", "as in hdfs://host:port/path"),
        ("hdfs://a:1,/path", "as in hdfs://host:port/path"),
        ("hdfs://a:99999/path", "as in hdfs://host:port/path"),
        ("sftp://user@host/path", "as in sftp://host:port/path"),
        ("sftp://-oProxyCommand=x/path", "as in sftp://host:port/path"),
        ("sftp://host:0/path", "as in sftp://host:port/path"),
        ("sftp://host:000001234567/path", "as in sftp://host:port/path"),
        ("cfs:///path", "as in cfs://host/path"),
        ("glusterfs://host/volume", "as in glusterfs://host:volume"),
        ("glusterfs://host:a b", "as in glusterfs://host:volume"),
        ("s3://" + "x" * 5000, "4095 bytes"),
    ],
)
def test_other_urls_are_refused_with_the_reason(url: str, problem: str) -> None:
    assert any(problem in found for found in url_problems(url)), url_problems(url)


@pytest.mark.parametrize(
    ("url", "kind", "authority", "whole"),
    [
        ("s3://bucket", Kind.S3, "bucket", "s3://bucket"),
        ("s3://my.bucket-1//a/./b/", Kind.S3, "my.bucket-1", "s3://my.bucket-1/a/b"),
        ("bos://bucket/日本", Kind.BOS, "bucket", "bos://bucket/日本"),
        ("hdfs://a:8020,b:8020/x", Kind.HDFS, "a:8020,b:8020", "hdfs://a:8020,b:8020/x"),
        ("sftp://[::1]:2222/x", Kind.SFTP, "[::1]:2222", "sftp://[::1]:2222/x"),
        ("sftp://host/", Kind.SFTP, "host", "sftp://host"),
        ("cfs://nfs.example.org/x", Kind.CFS, "nfs.example.org", "cfs://nfs.example.org/x"),
        ("glusterfs://host:volume", Kind.GLUSTERFS, "host:volume", "glusterfs://host:volume"),
        ("afs://host:7000/x", Kind.AFS, "host:7000", "afs://host:7000/x"),
    ],
)
def test_urls_of_servers_are_taken_apart(url: str, kind: Kind, authority: str, whole: str) -> None:
    assert url_problems(url) == []
    place = place_of(url)
    assert (place.kind, place.authority, str(place)) == (kind, authority, whole)
    assert place_of(whole) == place
    below = place.below(PurePosixPath("c/d"))
    assert str(below).endswith("/c/d")
    assert place_of(str(below)) == below


@given(st.sampled_from(Kind), PATHS)
def test_any_url_is_a_place_or_refused(kind: Kind, rest: str) -> None:
    url = f"{kind}://{rest}"
    if not url_problems(url):
        assert place_of(str(place_of(url))) == place_of(url)
        assert str(place_of(url)).isprintable()


@pytest.mark.parametrize("text", ["", ":", "a:", "a:b", "a b", "[::1", "[::1]x", "a..b", "-a", "a/b", "a@b", "x" * 300])
def test_what_is_no_host(text: str) -> None:
    assert host_of(text) is None


def test_what_an_administrator_mounted_is_found_by_the_nearest() -> None:
    mounted = mounted_of(["cfs://h/=/mnt/all", "cfs://h/export/a=/mnt/a", "glusterfs://g:v=/mnt/v"])
    folders = {
        "cfs://h/x/y": "/mnt/all/x/y",
        "cfs://h/export/a": "/mnt/a",
        "cfs://h/export/a/b": "/mnt/a/b",
        "cfs://h/export/ab": "/mnt/all/export/ab",
        "glusterfs://g:v": "/mnt/v",
    }
    assert {url: str(mounted.folder(place_of(url))) for url in folders} == folders
    for url in ("cfs://other/x", "glusterfs://g:w", "afs://h/x"):
        assert mounted.folder(place_of(url)) is None


@pytest.mark.parametrize(
    "word", ["cfs://h/x", "cfs://h/x=rel", "cfs://h/x=/a/../b", "local:///x=/y", "s3://b=/y", "=/y"]
)
def test_what_cannot_be_mounted_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"must be|is of a kind|as in"):
        mounted_of([word])


@pytest.mark.parametrize(("path", "problem"), [("/x", "relative"), ("a/../b", "'..'"), ("a\0", "control")])
def test_a_path_in_a_filesystem_begins_there_and_stays_there(path: str, problem: str) -> None:
    assert any(problem in violation.description for violation in sub_path_violations("sub_path", path))


@given(PATHS)
def test_a_url_without_violations_names_a_plain_folder_below_the_root(path: str) -> None:
    url = f"local://{path}"
    if url_problems(url):
        return
    folder = place_of(url).path
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
