"""The choice of ports."""

from __future__ import annotations

import socket
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_kit.embedded.refusal import Refusal
from pf_stack.endpoints import choose_endpoints, read_endpoints
from pf_stack.layout import Layout
from pf_stack.ports import FIRST, LAST, Reserved, choose_ports, is_free, starting_point

ALL = range(FIRST, LAST + 1)


def all_free(_port: int) -> bool:
    return True


def test_a_port_that_was_used_before_comes_first_then_the_wish_then_the_next_free_one() -> None:
    wanted = {"queue": 8999, "job": 9001, "fs": None}
    known = {"queue": 25000}
    chosen = choose_ports(wanted, known, 17, all_free)
    assert chosen == {"queue": 25000, "job": 9001, "fs": FIRST + 17}


def test_a_port_that_is_taken_is_left_for_another() -> None:
    chosen = choose_ports({"queue": 8999}, {"queue": 25000}, 0, lambda port: port not in {25000, 8999})
    assert chosen == {"queue": FIRST}


def test_two_stacks_that_choose_at_once_have_no_port_in_common(tmp_path: Path) -> None:
    one, other = Reserved(), Reserved()
    wanted = dict.fromkeys(("queue", "fs", "job"))
    try:
        first = choose_ports(wanted, {}, 0, one.take)
        second = choose_ports(wanted, {}, 0, other.take)
        assert not {*first.values()} & {*second.values()}
        one.release()
        assert choose_ports(wanted, first, 0, one.take) == first
        assert not other.take(first["queue"])
    finally:
        one.release()
        other.release()


def test_a_port_that_is_listened_on_is_not_reserved() -> None:
    reserved, another = Reserved(), Reserved()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not reserved.take(port)
    try:
        assert another.take(port)
    finally:
        another.release()


@settings(deadline=None)
@given(st.sets(st.integers(FIRST, FIRST + 50)), st.integers(0, 999), st.integers(1, 20))
def test_ports_are_free_and_differ(taken: Collection[int], start: int, count: int) -> None:
    wanted: dict[str, int | None] = dict.fromkeys(map(str, range(count)), 8999)
    chosen = choose_ports(wanted, {}, start, lambda port: port not in taken)
    assert len(set(chosen.values())) == count
    assert not set(chosen.values()) & set(taken)
    assert set(chosen.values()) <= {8999, *ALL}


def test_no_free_port_is_said_plainly() -> None:
    with pytest.raises(Refusal, match="no TCP port between"):
        choose_ports({"queue": 8999}, {}, 0, lambda _port: False)


def test_the_starting_point_belongs_to_the_folder() -> None:
    points = {starting_point(Path(f"/data/{number}")) for number in range(100)}
    assert len(points) > 90
    assert all(0 <= point <= LAST - FIRST for point in points)
    assert starting_point(Path("/data/1")) == starting_point(Path("/data/1"))


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - for an instant
def test_a_port_that_is_listened_on_is_not_free(address: str) -> None:
    with socket.socket() as listener:
        listener.bind((address, 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)


def layout_in(folder: Path, *, is_default: bool) -> Layout:
    return Layout(folder, is_default=is_default)


def test_endpoints_are_kept_from_start_to_start(tmp_path: Path) -> None:
    layout = layout_in(tmp_path, is_default=False)
    assert read_endpoints(layout) == {}
    first = choose_endpoints(layout, {"queue": 8999}, is_free)
    assert choose_endpoints(layout, {"queue": 8999}, is_free) == first == read_endpoints(layout)
    assert first["queue"].port in ALL
    assert first["queue"].admin_port not in {8999, first["queue"].port}


def test_an_endpoint_moves_if_its_port_was_taken_meanwhile(tmp_path: Path) -> None:
    layout = layout_in(tmp_path, is_default=False)
    first = choose_endpoints(layout, {"queue": 8999}, is_free)["queue"]
    with socket.socket() as intruder:
        intruder.bind(("127.0.0.1", first.port))
        intruder.listen()
        second = choose_endpoints(layout, {"queue": 8999}, is_free)["queue"]
    assert second.port != first.port
    assert second.admin_port == first.admin_port


def test_only_the_default_data_folder_gets_the_wished_port(tmp_path: Path) -> None:
    default = choose_ports({"queue": 8999}, {}, 0, all_free)
    assert default == {"queue": 8999}
    other = choose_endpoints(layout_in(tmp_path, is_default=False), {"queue": 8999}, is_free)
    assert other["queue"].port != 8999


def test_a_new_service_gets_a_port_beside_the_known_ones(tmp_path: Path) -> None:
    layout = layout_in(tmp_path, is_default=False)
    first = choose_endpoints(layout, {"queue": 8999}, is_free)
    second = choose_endpoints(layout, {"queue": 8999, "job": 9001}, is_free)
    assert second["queue"] == first["queue"]
    assert len({port for endpoint in second.values() for port in (endpoint.port, endpoint.admin_port)}) == 4
