"""What is said about volumes is understood, or refused: nothing else happens, whatever it is."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.mountinfo import KIND, Mounts, parse
from pf_csi.controller.domain import Range, Wanted, context_of, parse_id
from pf_csi.holder.places import Folders
from pf_csi.kernel.targets import Targets
from pf_csi.node.domain import Asked, Entry, wish_of
from pf_csi.node.journal import Journal
from pf_csi.options import Options
from pf_csi.options import parse as parse_options
from pf_csi.places import KINDS, Place, Rules, digest
from pf_csi.records import Record, decode, encode, folder_of, is_folder, path_of
from pf_csi.refusals import Refusal

ANY = st.text(max_size=40)
SALT = b"salt"
NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=12)
CONTEXTS = st.dictionaries(st.sampled_from(["url", "endpoint", "subPath", "secretKey", "filesystem"]) | ANY, ANY)
URLS = st.builds("{}://{}".format, st.sampled_from(KINDS) | ANY, ANY)


@given(volume=ANY, target=ANY, flags=st.lists(ANY, max_size=3), group=ANY, context=CONTEXTS, url=URLS, secrets=CONTEXTS)
def test_whatever_is_asked_is_a_wish_or_a_refusal(
    volume: str,
    target: str,
    flags: list[str],
    group: str,
    context: dict[str, str],
    url: str,
    secrets: dict[str, str],
) -> None:
    asked = Asked(volume, target, flags, group, False, {**context, "url": url}, secrets)
    try:
        wish = wish_of(asked, Rules())
    except Refusal:
        return
    assert not isinstance(wish.place, Place) or "/../" not in f"{wish.place.url}/"
    assert is_key(wish.key(SALT))


def is_key(text: str) -> bool:
    return len(text) == 32 and set(text) <= set("0123456789abcdef")


def test_a_key_tells_all_that_makes_a_mount_another() -> None:
    usual = {"url": "s3://b/c", "endpoint": "http://h"}
    secret = {"accessKey": "a", "secretKey": "b"}
    asked = [
        Asked("v", "/t", context=usual, secrets=secret),
        Asked("w", "/t", context=usual, secrets=secret),
        Asked("v", "/t", ["uid=5"], context=usual, secrets=secret),
        Asked("v", "/t", group="5", context=usual, secrets=secret),
        Asked("v", "/t", read_only=True, context=usual, secrets=secret),
        Asked("v", "/t", context=usual, secrets={**secret, "secretKey": "c"}),
        Asked("v", "/t", context=usual, secrets={**secret, "accessKey": "c"}),
        Asked("v", "/t", context={**usual, "subPath": "d"}, secrets=secret),
    ]
    keys = [wish_of(each, Rules()).key(SALT) for each in asked]
    assert len(set(keys)) == len(keys)
    pods = Asked("v", "/other", context={**usual, "csi.storage.k8s.io/pod.uid": "u"}, secrets=secret)
    assert wish_of(pods, Rules()).key(SALT) == keys[0]
    assert wish_of(asked[0], Rules()).key(b"of another machine") != keys[0]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({}, "^/srv/other is no volume on this machine; its administrator may allow it$"),
        ({"csi.storage.k8s.io/ephemeral": "true"}, "^/srv/other: a pod brings no folder of the machine"),
    ],
)
def test_a_folder_that_is_refused_is_named(context: dict[str, str], words: str) -> None:
    asked = Asked("v", "/t", context={"url": "local:///srv//other/.", **context})
    with pytest.raises(Refusal, match=words):
        wish_of(asked, Rules(folders=("/srv/data",)))


def test_another_secret_is_the_same_volume() -> None:
    """A retry with keys that were replaced is no other request: the contract leaves secrets out."""
    one, other = (
        wish_of(Asked("v", "/t", context={"url": "s3://b"}, secrets={"secretKey": key}), Rules()) for key in "ab"
    )
    assert one.shape(SALT) == other.shape(SALT)
    assert one.key(SALT) != other.key(SALT)


@given(st.lists(ANY, max_size=4))
def test_options_are_known_or_refused_and_values_are_not_repeated(flags: list[str]) -> None:
    try:
        Options(**parse_options(flags))
    except Refusal:
        return


@pytest.mark.parametrize("flag", ["uid=CANARY", "quota=CANARY", "file-mode=CANARY", "attr-timeout=CANARY", "ro=CANARY"])
def test_a_value_of_an_option_is_not_repeated(flag: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_options([flag])
    assert "CANARY" not in refused.value.text


@given(name=ANY, parameters=st.dictionaries(ANY, ANY), least=st.integers(), most=st.integers())
def test_whatever_is_wanted_is_a_volume_or_a_refusal(
    name: str, parameters: dict[str, str], least: int, most: int
) -> None:
    wanted = Wanted(name, Range(least, most), parameters)
    try:
        wanted.check()
        size = wanted.range.size()
    except Refusal:
        return
    volume = wanted.id("data")
    assert parse_id(str(volume)) == volume
    assert len(str(volume)) <= 128
    assert wanted.range.holds(size)


@given(ANY | st.sampled_from(["data/..", "../x/csi-" + "0" * 32, "data/csi-" + "0" * 31 + "/", ""]))
def test_an_id_leads_nowhere_but_to_a_volume(text: str) -> None:
    volume = parse_id(text)
    assert volume is None or (str(volume) == text and ".." not in text and text.count("/") == 1)


@given(ANY)
def test_names_of_folders_have_nothing_of_what_others_say(name: str) -> None:
    folder = folder_of(name)
    assert is_folder(folder)
    assert ".." not in path_of(folder)


@given(st.binary(max_size=60) | st.builds(json.dumps, st.dictionaries(ANY, ANY | st.integers())).map(str.encode))
def test_a_record_is_one_or_none(data: bytes) -> None:
    try:
        record = decode(data)
    except ValueError:
        return
    assert decode(encode(record)) == record


def test_machines_are_told_no_secret() -> None:
    volume = parse_id("data/" + folder_of("v"))
    assert volume is not None
    place = Place("s3://b/x", {"endpoint": "e", "accessKey": "CANARY"}, {"secretKey": "CANARY"})
    assert "CANARY" not in repr(context_of(volume, place))
    assert "CANARY" not in repr(Place("s3://b/x", {}, {"secretKey": "CANARY"}))


@given(st.text(max_size=60) | st.builds("/kubelet/{}".format, ANY))
def test_a_target_lies_below_the_kubelets_folder(target: str) -> None:
    try:
        inner = Targets(Path("/kubelet")).relative(target)
    except PermissionError:
        return
    assert os.path.normpath(f"/kubelet/{inner}") == target
    assert "\0" not in target


@pytest.mark.parametrize("key", ["..", "a/b", "", "0" * 15, "G" * 32, "0" * 65, "../" + "0" * 32])
def test_a_key_is_the_name_of_one_folder(key: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        Folders(Path("/mounts"), Path("/secrets")).of(key)


def listed(places: list[str]) -> bytes:
    lines = [f"{number} 1 0:{number} /in /{shown(place)} rw,nosuid shared:1 - {KIND} paddleflow:x rw"
             for number, place in enumerate(places)]  # fmt: skip
    return "\n".join(lines).encode(errors="surrogateescape")


def shown(place: str) -> str:
    return "".join(f"\\{ord(each):03o}" if each in " \t\n\\" else each for each in place)


@given(st.lists(NAMES.filter(lambda name: not set("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029") & set(name)), max_size=6))
def test_places_of_mounts_are_read_as_they_are(places: list[str]) -> None:
    mounts = parse(listed(places))
    assert [mount.place for mount in mounts.all] == [f"/{place}" for place in places]
    for place in places:
        top = mounts.top(f"/{place}")
        assert top is not None
        assert top.connection == str(len(places) - 1 - places[::-1].index(place))
        assert (top.ours, top.root, top.read_only) == (True, "/in", False)


def test_lines_end_only_with_a_line_feed() -> None:
    """The kernel hides that one by its number, and no other byte that Python would end a line with."""
    assert [mount.place for mount in parse(listed(["a\rb\x0bc"])).all] == ["/a\rb\x0bc"]


def test_a_journal_is_read_after_a_crash(tmp_path: Path) -> None:
    asked = Asked("v", "/k/pods/t", context={"url": "s3://b"}, secrets={"secretKey": "CANARY"})
    wish = wish_of(asked, Rules())
    journal = Journal(tmp_path)
    entry = Entry("/k/pods/t", "v", wish.key(SALT), wish.shape(SALT), "pod", False, 1, "boot")
    journal.write(entry)
    (tmp_path / "half.new").write_text(json.dumps(asdict(replace(entry, target="/k/pods/ghost"))))
    again = Journal(tmp_path)
    assert not (tmp_path / "half.new").exists()
    assert again.entries == [entry]
    assert (again.uses(entry.key), again.uses("another")) == (True, False)
    assert "CANARY" not in "".join(path.read_text() for path in tmp_path.iterdir())
    again.remove(entry.target)
    again.remove(entry.target)
    assert Journal(tmp_path).entries == []
    assert Mounts([]).top("/") is None
    assert Record("a", 1, "b") == decode(encode(Record("a", 1, "b")))


def test_a_journal_of_another_version_loses_nothing(tmp_path: Path) -> None:
    entry = Entry("/k/pods/t", "v", "key", "shape", "pod", False, 1, "boot")
    Journal(tmp_path).write(entry)
    (file,) = tmp_path.glob("*.json")
    file.write_text(json.dumps({**asdict(entry), "later": "knows more"}))
    assert Journal(tmp_path).entries == [entry]
    file.write_text(json.dumps({"target": "/k/pods/t"}))
    for _ in range(2):
        journal = Journal(tmp_path)
        assert journal.entries == []
        assert not journal.uses("key"), "the kernel's list tells whether it is"
    assert len(list(tmp_path.iterdir())) == 1


def test_options_that_are_as_usual_do_not_count() -> None:
    usual, other = (Asked("v", "/k/pods/t", flags, context={"url": "s3://b"}) for flags in ((), ("dataset",)))
    shapes = [wish_of(asked, Rules()).shape(SALT) for asked in (usual, other)]
    assert shapes[0] == digest(SALT, "v", ["s3://b", {}], {})
    assert shapes[0] != shapes[1]
