"""Tables in their forms, in a pipe and on a terminal."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.output import Printer
from paddleflow.cli.table import Cell, Form, Table, as_grid, as_json, as_text, as_yaml, cell_text, width

TABLE = Table(["name", "amounts", "more"], [["a", {"cpu": "1"}, None], ["b", {}, [True, 2]]])
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=6)
CELLS = st.one_of(WORDS, st.integers(), st.booleans(), st.none(), st.dictionaries(WORDS, WORDS), st.lists(WORDS))
TABLES = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=4).map(lambda rows: Table(["one", "two"], rows))


def test_a_grid_holds_cells_as_people_read_them() -> None:
    assert as_grid(TABLE).splitlines() == [
        "+------+---------+--------+",
        "| name | amounts | more   |",
        "+======+=========+========+",
        "| a    | cpu=1   |        |",
        "+------+---------+--------+",
        "| b    |         | yes, 2 |",
        "+------+---------+--------+",
    ]


def test_small_and_large_numbers_are_written_out() -> None:
    assert as_text(Table(["a", "b", "c"], [[7.9e-05, 1e20, float("inf")]])) == "0.000079\t100000000000000000000\tinf"


@given(TABLES)
def test_json_is_an_array_of_objects_by_heading(table: Table) -> None:
    assert json.loads(as_json(table)) == table.objects()


@given(TABLES)
def test_yaml_says_the_same_as_json(table: Table) -> None:
    assert yaml.safe_load(as_yaml(table)) == json.loads(as_json(table))


@given(TABLES)
def test_text_has_a_line_for_each_row_and_a_tab_between_cells(table: Table) -> None:
    lines = as_text(table).split("\n") if table.rows else []
    assert [line.count("\t") for line in lines] == [1] * len(table.rows)


@given(TABLES)
def test_the_lines_of_a_grid_are_as_long_as_its_frame(table: Table) -> None:
    lines = as_grid(table).split("\n")
    assert {width(line) for line in lines} == {len(lines[0])}


def test_wide_characters_take_two_columns() -> None:
    assert (width("a"), width("队列"), width("e\u0301")) == (1, 4, 1)


def printed(printer: Printer, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    printer.list(TABLE, "thing", "m1")
    captured = capsys.readouterr()
    return captured.out, captured.err


@pytest.mark.parametrize("form", [Form.TABLE, Form.TEXT])
def test_the_marker_is_the_last_line(form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(Printer(form, terminal=False), capsys)
    assert out.splitlines()[-1] == "marker: m1"
    assert err == ""


@pytest.mark.parametrize("form", [Form.JSON, Form.YAML])
def test_data_for_programs_is_nothing_but_data(form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(Printer(form, terminal=False), capsys)
    assert yaml.safe_load(out) == TABLE.objects()
    assert err == "marker: m1\n"


def test_a_terminal_gets_a_frame_that_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    Printer(Form.TABLE, terminal=True).table(Table(["name", "status"], [["x" * 100, "open"]]))
    out = capsys.readouterr().out
    assert out.startswith("╭")
    assert all(len(line) <= 40 for line in re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines())


def test_on_a_terminal_times_are_short(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(Form.TABLE, terminal=True).table(Table(["create time"], [["2020-01-02T03:04:05+00:00"]]))
    assert "2020-01-02 03:04:05 " in capsys.readouterr().out


def test_on_a_terminal_the_year_is_told_if_it_is_another(capsys: pytest.CaptureFixture[str]) -> None:
    this = datetime.now().astimezone().year
    Printer(Form.TABLE, terminal=True).table(Table(["create time"], [[f"{this}-01-02T03:04:05+00:00"]]))
    assert "│ 01-02 03:04:05 │" in capsys.readouterr().out


@pytest.mark.parametrize("cell", [[{"role": "worker"}, {"role": "master"}], {"members": [1]}])
def test_what_holds_lists_or_objects_is_written_as_json(cell: Cell) -> None:
    assert json.loads(cell_text(cell)) == cell


@pytest.mark.parametrize("columns", [80, 100])
def test_an_id_is_in_one_piece(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    id_, time = "job-0123456789abcdef", "2020-01-02T03:04:05+00:00"
    rows = [[id_, "a name of a job", "default-queue", "succeeded", time, time, time]]
    headings = ["job id", "job name", "queue", "status", "accept time", "start time", "finish time"]
    Printer(Form.TABLE, terminal=True).table(Table(headings, rows))
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert id_ in out
    assert all(len(line) <= columns for line in out.splitlines())


def test_no_color_is_respected(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    printer = Printer(Form.TABLE, terminal=True)
    printer.table(Table(["status"], [["open"]]))
    assert "\x1b[32m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    printer.table(Table(["status"], [["open"]]))
    assert "\x1b[32m" not in capsys.readouterr().out
    assert not printer.colours


def test_lines_and_drawings_are_plain_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(Form.TABLE, terminal=False)
    printer.line("\x1b[32mgreen\x1b[0m")
    assert capsys.readouterr().out == "green\n"
    assert not printer.drawing
