"""What conditions yield, and which texts are none."""

from __future__ import annotations

import pytest

from pf_pipeline.conditions.evaluation import evaluate
from pf_pipeline.conditions.parsing import parse
from pf_pipeline.conditions.problems import ConditionError, ConditionSyntaxError

TRUE = r"""
0.5 < .75
3. == 3
0xff == 255
0010 == 10
-2 < -1
5 - -5 == 10
3 * 4 + 2 == 14
2 + 3 * 4 == 14
10 - 4 - 3 == 3
2 ** 3 ** 2 == 64
-2 ** 2 == 4
9 % 5 == 4
9 / 2 == 4.5
1 / 0 > 99999999
-1 / 0 < 0
0 / 0 != 0 / 0
6 & 3 == 2
6 | 3 == 7
6 ^ 3 == 5
1 << 4 == 16
1 << 64 == 0
256 >> 4 == 16
~0 == -1
cat < dog
Zebra < ant
cat == 'cat'
cat == "cat"
'cat' == "cat'
[big cat] == 'big cat'
big\-cat == 'big-cat'
big\ cat == 'big cat'
'it\'s' == [it's]
step_2 == 'step_2'
über > zebra
'8' > '10'
snow + ball == snowball
a + 1 == a1
0.5 + '' == '0.5'
'' + 100000000000000000000 == '100000000000000000000'
'' + 10 ** 21 == '1e+21'
'' + 1 / 16384 == '6.103515625e-05'
'' + true == 'true'
'' + 1 / 0 == '+Inf'
'' + (1, a) == '[1 a]'
'' != ' '
mnist =~ 'i'
mnist =~ ist
mnist !~ '^i'
'v1.25' =~ '^v\\d+\\.\\d+$'
mnist =~ ist ? true : false
'2021-12-31' < '2022-01-01'
'2022-01-01' == 1640995200
'2022-01-01 12:30' == '2022-01-01 12:30:00'
'2022-01-01 12:30:00+02:00' == '2022-01-01T10:30:00Z'
'2022-01-01T10' != '2022-01-01T10Z'
'2022-01-01T10:30+0130' == '2022-01-01T09Z'
'2022-01-01T10:30:00.75Z' == '2022-01-01T10:30:00Z'
'9:15AM' < '10:00AM'
'12:05AM' < '1:00AM'
'Sat Jan  1 00:00:00 2022' == '2022-01-01'
'Sat Jan  1 00:00:00 CET 2022' == '2022-01-01'
'Sat Jan 01 00:00:00 -0100 2022' == '2022-01-01T01Z'
'2022-02-30' > '2022-02-3'
'2022-01-02' - 86400 == '2022-01-01'
'0000-01-01' < '0001-01-01'
1 != '1'
1 != true
!(1 > 2)
!false
true || no
false || 2 > 1
1 > 2 && no || true
true && true
true || false && false
5 > 3 ? 2 > 1 : no
5 < 3 ? no : true
false ? 1 ?? true
b in (a, b)
2 IN (1, 2)
(1, 2) == (1, 2)
(1, 2) != (1, '2')
((1, 2), 3) == (1, 2, 3)
true || v1.2
"""
FALSE = """
12 < 3
'7' == 7
7 in (1, 2)
'7' in (7, 8)
cat == dog
'a' == 'A'
true == 'true'
false && no
1 == 2 && no == 3
1 + 1 == 3
2021-12-31 > 2022-01-01
5 > 3 ? false : no
"""
NEITHER = """
cat
7
'true'
True
TRUE
''
(1, 2)
1,5 > 2
7 > '6'
cat > 1
true > false
2 > 1 > 0
cat - at == c
cat * 2 == 4
-cat == 1
!cat
cat && true
true && cat
1 || true
7 =~ 7
cat =~ 7
cat =~ [*]
cat =~ ('(' + '')
cat in dog
cat in (cat)
1 ? true : false
false ? true
1 << -1 > 0
2 ** 80 & 1 == 1
v1.2 == v1.2
model.Name == x
model.Name(1, 2) == x
'' + true
"""
NO_CONDITION = {
    " ": "at character 2: the end stands where a value belongs",
    "7 >": "at character 4: the end stands where a value belongs",
    "> 7": "at character 1: '>' stands where a value belongs",
    "7 8": "at character 3: '8' stands where an operator belongs",
    "big cat == x": "at character 5: 'cat' stands where an operator belongs",
    "x = y": "at character 3: '=' is no operator; write == to compare",
    "x === y": "at character 3: '===' is no operator; put texts with such characters in quotes",
    "x > y and y > z": "at character 7: 'and' stands where an operator belongs; write && for and",
    "x > y or z": "at character 7: 'or' stands where an operator belongs; write || for or",
    "not (x == y)": "at character 5: '(' stands where an operator belongs; write ! for not",
    "size(x) > 1": "at character 5: '(' stands where an operator belongs",
    "x >-1": "at character 3: '>-' is no operator; put a space before -",
    "!!true": "at character 1: '!!' is no operator; put texts with such characters in quotes",
    "! -1": "at character 3: '-' stands where a value belongs",
    "!'x'": "at character 2: a number or a word belongs behind !",
    "(x == y": "at character 1: the bracket is not closed",
    "x == y)": "at character 7: ')' stands where an operator belongs",
    "(x == y) z": "at character 10: 'z' stands where an operator belongs",
    "x in ()": "at character 7: ')' stands where a value belongs",
    "data/a.csv == x": "at character 6: 'a.csv' has a dot; put it in quotes",
    "x == y.": "at character 6: 'y.' has a dot; put it in quotes",
    "1.2.3 == x": "at character 1: '1.2.3' is no number; put it in quotes if it is a text",
    ". == x": "at character 1: '.' is no number; put it in quotes if it is a text",
    "0x == 1": "at character 2: 'x' stands where an operator belongs",
    "0x10000000000000000 > 1": "at character 1: '0x10000000000000000' is too large for a number; "
    "put it in quotes if it is a text",
    "2e3 > 1": "at character 2: 'e3' stands where an operator belongs",
    "30m > 1": "at character 3: 'm' stands where an operator belongs",
    "1_0 > 1": "at character 2: '_' is no operator; put texts with such characters in quotes",
    "_x == y": "at character 1: '_' is no operator; put texts with such characters in quotes",
    "x@y == z": "at character 2: '@' is no operator; put texts with such characters in quotes",
    "٣ > 2": "at character 1: '٣' is no number; put it in quotes if it is a text",
    "'x == y": "at character 1: the quote is not closed; write \\' for a quote inside of a text",
    "[x == y": "at character 1: the square bracket is not closed; put texts with brackets in quotes",
    "x\\": "at character 2: nothing follows the backslash",
    "x =~ *.py": "at character 6: '*.' is no operator; put texts with such characters in quotes",
    "1 + '2022-01-01' > 0": "at character 3: + cannot stand beside a date",
    "'2022-01-01' ? true : false": "at character 14: ? cannot stand beside a date",
}


def rows(text: str) -> list[str]:
    return text.strip("\n").splitlines()


@pytest.mark.parametrize("text", rows(TRUE))
def test_a_condition_holds(text: str) -> None:
    assert evaluate(parse(text)) is True


@pytest.mark.parametrize("text", rows(FALSE))
def test_a_condition_does_not_hold(text: str) -> None:
    assert evaluate(parse(text)) is False


@pytest.mark.parametrize("text", rows(NEITHER))
def test_a_condition_is_neither_true_nor_false(text: str) -> None:
    expression = parse(text)
    with pytest.raises(ConditionError):
        evaluate(expression)


@pytest.mark.parametrize(("text", "message"), NO_CONDITION.items())
def test_what_is_no_condition_is_refused_where_it_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ConditionSyntaxError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_no_text_is_no_condition() -> None:
    assert evaluate(parse("")) is True


def test_lines_are_as_good_as_spaces() -> None:
    assert evaluate(parse("12\n > 5")) is True


def test_a_pattern_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ConditionSyntaxError, match=r"at character 6: '\*a' is no regular expression"):
        parse("x =~ '*a'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("big - cat == x", "the text 'big' is no number, and cannot be used with -"),
        ("7 > '6'", "the number 7 and the text '6' have no order: put both in quotes, or none"),
        ("x && true", "the text 'x' is neither true nor false, and cannot be used with &&"),
        ("1, 2", "the condition yields a list, and not true or false; compare it with something"),
        ("false ? 1", "the condition yields nothing, and not true or false; compare it with something"),
        ("x in y", "the text 'y' is no list; write (a, b) behind in"),
        ("v1.2 == x", "'v1.2' is the field of something that is not there; put it in quotes"),
    ],
)
def test_why_a_condition_has_no_value_is_said(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        evaluate(parse(text))
    assert str(caught.value) == message
