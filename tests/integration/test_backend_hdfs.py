"""What only Hadoop file systems have: name nodes, data nodes, blocks and users without passwords."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from pf_backends.entries import Condition, Facts
from pf_backends.errors import Changed, Malformed, Unreachable
from pf_backends.hdfs.backend import HdfsBackend
from pf_backends.opening import Surroundings, open_backend
from pf_backends.reach import Reach
from support.backend_places import content, listed, names, read
from support.fault_proxy import Fault, Kind, fault_proxy
from support.hdfs_server import BLOCK, HdfsServer
from support.s3_servers import free_ports

Open = Callable[..., HdfsBackend]
pytestmark = pytest.mark.timeout(300)  # the first test fetches Hadoop


@pytest.fixture
def opened(hdfs_server: HdfsServer, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens backends on a folder of the test, with other settings than the usual."""
    with ExitStack() as stack:

        def opening(**settings: object) -> HdfsBackend:
            told: dict[str, Any] = {"path": request.node.name, **settings}
            backend = HdfsBackend(replace(hdfs_server.settings, **told))
            stack.callback(backend.close)
            return backend

        opening(path="").make_folder(request.node.name, facts=Facts(mode=0o777))
        yield opening


def some(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def test_each_user_may_do_what_is_allowed(opened: Open) -> None:
    mine, hers = opened(), opened(user="alice")
    mine.put("secret", b"x", facts=Facts(mode=0o600))
    mine.put("told", b"x")
    mine.make_folder("own", facts=Facts(mode=0o755))
    assert content(hers, "told") == b"x"
    for ask in (
        lambda: content(hers, "secret"),
        lambda: read(hers, "secret", 0, 1, version=hers.stat("secret").version),
        lambda: hers.append("told", b"y", offset=1),
        lambda: hers.put("own/a", b""),
        lambda: hers.make_folder("own/f"),
        lambda: hers.set_facts("told", Facts(mode=0o777)),
    ):
        with pytest.raises(PermissionError, match="alice"):
            ask()
    hers.put("hers", b"x")
    assert names(listed(mine)) == ["hers", "own", "secret", "told"]


@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 700])
def test_files_of_several_blocks_are_read_anywhere(opened: Open, size: int) -> None:
    backend, body = opened(), some(size)
    version = backend.put("a", body).version
    assert content(backend, "a") == body
    for offset in (0, 1, 511, 512, BLOCK - 3, BLOCK, size - 2):
        assert read(backend, "a", offset, 1500, version=version) == body[offset : offset + 1500]


@pytest.mark.parametrize("size", [0, 1, 512, 70_001, BLOCK - 5, BLOCK])
def test_files_grow_from_any_length(opened: Open, size: int) -> None:
    backend, body = opened(), some(size)
    backend.put("a", body)
    for more in (b"", b"x", some(511), some(300_003), some(BLOCK)):
        body += more
        assert backend.append("a", more, offset=len(body) - len(more)).size == len(body)
    assert content(backend, "a") == body


def test_a_file_that_somebody_is_adding_to_can_be_read(opened: Open, hdfs_server: HdfsServer) -> None:
    backend = opened()
    before = backend.put("a", some(100_000))
    hdfs_server.keep_open(backend, "a")
    assert content(backend, "a") == some(100_000)
    assert read(backend, "a", 99_990, 100, version=backend.stat("a").version) == some(100_000)[-10:]
    with pytest.raises(OSError, match="a") as busy:
        backend.append("a", b"x", offset=before.size)
    assert busy.value.errno in (16, 5)


def test_calls_go_on_when_answers_are_lost_and_are_done_once(opened: Open, hdfs_server: HdfsServer) -> None:
    ((_, port),) = hdfs_server.settings.names
    with fault_proxy(port) as proxy:
        backend = opened(names=(("127.0.0.1", proxy.port),))
        for turn in range(6):
            backend.put(f"a{turn}", b"x")
            # The next connection ends before the answer to its first call comes.
            proxy.next(Fault(Kind.CUT), Fault(Kind.CUT))
            backend.rename(f"a{turn}", f"b{turn}", replace=False)
            proxy.next(Fault(Kind.CUT), Fault(Kind.CUT))
            assert backend.make_folder(f"f{turn}").path == f"f{turn}"
            proxy.next(Fault(Kind.CUT))
            backend.append(f"b{turn}", b"y", offset=1)
        assert [content(backend, f"b{turn}") for turn in range(6)] == [b"xy"] * 6


def test_another_name_node_is_asked_where_one_is_gone(opened: Open, hdfs_server: HdfsServer) -> None:
    gone = ("127.0.0.1", free_ports(1)[0])
    backend = opened(names=(gone, *hdfs_server.settings.names))
    backend.put("a", b"abc")
    assert content(backend, "a") == b"abc"


def test_a_name_node_that_is_not_there_is_told(opened: Open) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable, match="refused"):
        opened(names=(("127.0.0.1", free_ports(1)[0]),), deadline=3.0).check()
    assert time.monotonic() - began < 4


def test_one_that_says_nothing_is_not_waited_for_ever(opened: Open, hdfs_server: HdfsServer) -> None:
    ((_, port),) = hdfs_server.settings.names
    with fault_proxy(port) as proxy:
        proxy.always = Fault(Kind.STALL)
        began = time.monotonic()
        with pytest.raises(Unreachable):
            opened(names=(("127.0.0.1", proxy.port),), deadline=1.0).check()
        assert time.monotonic() - began < 4


def test_what_is_refused_leaves_nothing(opened: Open) -> None:
    backend = opened()
    backend.make_folder("f")
    backend.put("f/a", b"one")
    asks: list[Callable[[], object]] = [
        lambda: backend.put("f/a", b"two", condition=Condition(absent=True)),
        lambda: backend.make_folder("f/a"),
        lambda: backend.put("f/a", b"two", condition=Condition(version="1-2-3")),
    ]
    for ask in asks:
        with pytest.raises(OSError, match="f/a"):
            ask()
    assert [status.name for status in backend._files().listing("f", b"").entries] == [b"a"]  # noqa: SLF001


def test_a_folder_with_only_hidden_things_is_empty(opened: Open) -> None:
    backend = opened()
    for name in ("left", "kept"):
        backend.make_folder(name)
        backend.send(backend.begin(f"{name}/a"), 1, b"abc")
    backend.remove_folder("left")
    backend.put("kept/b", b"")
    with pytest.raises(OSError, match="kept"):
        backend.remove_folder("kept")
    assert names(listed(backend)) == ["kept"]
    assert [upload.path for upload in backend.uploads("")] == ["kept/a"]


def test_bytes_that_changed_on_a_disk_are_not_believed(opened: Open, hdfs_server: HdfsServer) -> None:
    backend, body = opened(deadline=5.0), some(777_777)
    backend.put("a", body)
    hdfs_server.flip_a_bit_of(body)
    with pytest.raises(Unreachable, match=r"checksum|block"):
        content(backend, "a")
    assert read(backend, "a", 0, 100) == body[:100]


def test_closing_ends_calls_under_way(opened: Open) -> None:
    backend = opened()
    backend.check()
    backend.close()
    backend.close()
    with pytest.raises(Unreachable, match="closed"):
        backend.stat("a")


def test_the_own_network_can_be_closed(opened: Open) -> None:
    with pytest.raises(PermissionError, match="operator"):
        opened(reach=Reach(internal=False)).check()


def test_a_cluster_is_opened_by_its_url(opened: Open, hdfs_server: HdfsServer) -> None:
    opened().put("a", b"abc")
    ((host, port),) = hdfs_server.settings.names
    folder = opened()._settings.path  # noqa: SLF001
    properties = {"user": "alice", "group": "x", "blockSize": str(1 << 20), "replication": "1"}
    backend = open_backend(f"hdfs://{host}:{port}/{folder}", properties, Surroundings(deadline=10.0))
    assert backend.address == f"hdfs://alice@{host}:{port}/{folder}"
    assert content(backend, "a") == b"abc"
    backend.put("b", some(3 << 20))
    assert content(opened(), "b") == some(3 << 20)
    backend.close()


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Malformed, match=r"URL.*keytab.data is for clusters with Kerberos.*blockSize must be"):
        open_backend("hdfs://a:x/f", {"blockSize": "-1", "keytab.data": "aGVsbG8="})


def test_a_version_is_not_that_of_a_file_that_grew(opened: Open) -> None:
    backend = opened()
    before = backend.put("a", b"abc")
    read(backend, "a", 0, 3, version=before.version)
    backend.append("a", b"def", offset=3)
    with pytest.raises(Changed):
        read(backend, "a", 0, 3, version=before.version)


@pytest.mark.crash
def test_a_cluster_that_restarts_is_waited_for_and_a_dead_machine_is_told() -> None:
    server = HdfsServer()
    try:
        backend = HdfsBackend(replace(server.settings, deadline=40.0))
        backend.put("a", b"abc")
        server.kill_data_node()
        quick = HdfsBackend(replace(server.settings, deadline=3.0))
        for ask in (
            lambda: content(quick, "a"),
            lambda: quick.put("b", b"x"),
            lambda: quick.append("a", b"x", offset=3),
        ):
            with pytest.raises(Unreachable):
                ask()
        assert names(listed(quick)) == ["a"]
        server.start_data_node()
        assert content(backend, "a") == b"abc"
        version = backend.stat("a").version
        server.kill_name_node()
        server.start_name_node()
        assert backend.stat("a").version == version
        backend.put("c", b"x")
        quick.close()
        backend.close()
    finally:
        server.stop()


@pytest.mark.crash
def test_copies_are_made_by_the_machines_that_live() -> None:
    server = HdfsServer(data_nodes=3)
    try:
        backend = HdfsBackend(replace(server.settings, replication=2, deadline=60.0))
        body = some(BLOCK + 100_000)
        backend.put("a", body)
        assert backend.append("a", b"more", offset=len(body)).size == len(body) + 4
        server.kill_data_node(0)
        for turn in range(6):
            backend.put(f"b{turn}", body)
            assert backend.append(f"b{turn}", b"more", offset=len(body)).size == len(body) + 4
            assert content(backend, f"b{turn}") == body + b"more"
        assert content(backend, "a") == body + b"more"
        assert backend.append("a", b"again", offset=len(body) + 4).size == len(body) + 9
        assert content(backend, "a") == body + b"moreagain"
        backend.close()
    finally:
        server.stop()


def test_a_file_grows_in_blocks_of_its_own_size(opened: Open) -> None:
    small, usual, body = opened(block_size=1 << 20), opened(), some(1_500_000)
    small.put("a", body)
    for more in (some(300_000), some(3 << 20)):
        usual.append("a", more, offset=len(body))
        body += more
    assert content(usual, "a") == body
    told = usual._files().blocks("a", 0, len(body))  # noqa: SLF001
    assert [located.block.size for located in told.blocks] == [1 << 20] * 4 + [len(body) - (4 << 20)]
