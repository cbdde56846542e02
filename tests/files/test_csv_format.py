import io
from typing import Any

import numpy as np
import pytest

from steinkit.containers.columns import Selection
from steinkit.errors import InputError, ReadingWarning, UsageError
from steinkit.files import read_sample
from steinkit.files.csv_format import read_csv, write_csv
from steinkit.sample import Sample


def read(text: str, columns: list[str] | None = None) -> Sample:
    return read_csv(text.encode(), "draws.csv", Selection(columns))


def test_every_kind_of_column() -> None:
    sample = read("chain,b,weight,score:a,draw,a,cost,score:b\n0,1,2,3,4,5,6,7\n1,10,20,30,40,50,60,70\n")
    assert sample.names == ("b", "a")
    assert sample.points.tolist() == [[1, 5], [10, 50]]
    assert sample.scores.tolist() == [[7, 3], [70, 30]]
    assert sample.weights.tolist() == [2, 20]
    assert sample.cost.tolist() == [6, 60]
    assert sample.chain.tolist() == [0, 1]
    assert sample.draw.tolist() == [4, 40]


def test_draws_keep_the_order_of_the_file_whatever_their_labels() -> None:
    sample = read("chain,draw,x\n1,0,5\n0,1,6\n0,0,7\n")
    assert sample.points[:, 0].tolist() == [5, 6, 7]
    assert sample.chain.tolist() == [1, 0, 0]


SPELLINGS = {
    "plain": "a,b\n1,2\n3,4\n",
    "open end": "a,b\n1,2\n3,4",
    "crlf": "a,b\r\n1,2\r\n3,4\r\n",
    "cr": "a,b\r1,2\r3,4\r",
    "cr before crlf": "\r\r\na,b\r\n1,2\r\n3,4\r\n",
    "bom": "\ufeffa,b\n1,2\n3,4\n",
    "quoted names": '"a","b"\n1,2\n3,4\n',
    "spaces": ' a , "b"\n 1 , 2\n3,4\n',
    "quoted cells": 'a,b\n"1","2"\n3,4\n',
    "blank end": "a,b\n1,2\n3,4\n\n \n\n",
    "comments": "# made by hand\n#\n\na,b\n1,2\n3,4\n",
    "e": "a,b\n1e0,+2.\n0.3E1,4.0\n",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_of_the_same_table(text: str) -> None:
    sample = read(text)
    assert sample.names == ("a", "b")
    assert sample.points.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "text",
    [
        '"";"theta[1,2]";"b"\n"1";-1,5;2\n"2";3,25e2;4\n',
        "theta[1,2];b\n-1,5;2\n3,25e2;4\n",
        "theta[1,2];b\n-1.5;2\n3.25e2;4\n",
        "theta[1,2]\tb\n-1.5\t2\n325\t4\n",
        '"theta[1,2]"\t"b"\r\n"-1,5"\t"2"\r\n"325"\t"4"\r\n',
        '"","theta[1,2]","b"\n"1",-1.5,2\n"2",325,4\n',
    ],
    ids=["write.csv2", "decimal commas", "semicolons", "tabs", "quoted cells", "write.csv"],
)
def test_tables_as_r_and_spreadsheets_write_them(text: str) -> None:
    sample = read(text)
    assert sample.names == ("theta[1,2]", "b")
    assert sample.points.tolist() == [[-1.5, 2], [325, 4]]


def test_columns_of_samplers_are_labels_or_ignored() -> None:
    text = "alpha,lp__,divergent__,.chain,.iteration,.draw\n1,-2,0,1,1,1\n3,NA,1,2,1,2\n"
    with pytest.warns(ReadingWarning) as caught:
        sample = read(text)
    assert sample.names == ("alpha",)
    assert sample.chain.tolist() == [1, 2]
    assert sample.draw.tolist() == [1, 1]
    assert sample.divergent.tolist() == [False, True]
    (only,) = caught
    for words in ('".chain" as chain', '".iteration" as draw', '"lp__", ".draw" ignored'):
        assert words in str(only.message)


@pytest.mark.parametrize(
    ("header", "chain", "draw"),
    [
        (".chain,.draw,chain,a", 3, 2),
        ("chain__,draw__,iter__,a", 1, 2),
        ("chain__,iter__,stepsize__,a", 1, 2),
        ("treedepth__,accept_stat__,n_leapfrog__,a", None, None),
        ("lp__,mine__,other,a", None, None),
        ("energy__,other,other2,a", None, None),
    ],
)
def test_labels_of_the_columns(header: str, chain: int | None, draw: int | None) -> None:
    sample = read(f"{header}\n1,2,3,4\n")
    assert sample.names[-1] == "a"
    assert len(sample.names) == 1 + header.count("other")
    assert (None if sample.chain is None else int(sample.chain[0])) == chain
    assert (None if sample.draw is None else int(sample.draw[0])) == draw


def test_coordinates_that_are_named_are_coordinates() -> None:
    assert read("a,mine__\n1,2\n", ["mine__"]).points.tolist() == [[2]]
    assert read(".chain,a\n1,2\n", [".chain"]).names == (".chain",)
    assert read("lp__,theta\n-3,2\n", ["lp__"]).names == ("lp__",)
    assert read("a,mine__\n1,2\n").names == ("a", "mine__")


def test_greek_letters_are_distinct_from_latin_ones() -> None:
    assert read("a,\u03b1,v,\u03bd,\u0430\u0431\n1,2,3,4,5\n").names[1] == "\u03b1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b\n\n", "no draws"),
        ("1.5,2\n3,4\n", 'line 1: .*"x1,x2"'),
        ("# of a long run\n1.5,2\n3,4\n", "line 2"),
        ("a,a\n1,2\n", 'two columns .*"a"'),
        (",a\n5,2\n", "column 1 has no name.*index=False.*row.names=FALSE"),
        ('"",a\none,2\n', "column 1 has no name"),
        (",a,\n1,2,3\n", "column 3 has no name"),
        ("a;b\n1;2\n3;x\n", 'line 3, column "b".*"x"'),
        ("a;b\n1,5;2\n3;2.5\n", r"commas \(line 2\).*points \(line 3\)"),
        ("a;b\n" + "1,5;2\n" * 100 + "1.5;2\n" * 100, r"\(line 2\).*\(line 102\)"),
        ("a;b\n1.000,5;2\n", r"\(line 2\)"),
        ("a\tb\n1\t2\n3\n", "line 3: expected 2 .* got 1"),
        ("a,b\n1,2\nNA,4\n", 'line 3, column "a" is NA.*na.omit'),
        ('"";"a"\n"1";NA\n', 'line 2, column "a" is NA'),
        (".chain,lp__\n1,2\n", 'no coordinate.*".chain", "lp__"'),
        ("a,.chain\n1,0.5\n", 'line 2, column ".chain" is 0.5'),
        ("a\n1\n2,3\n", "line 3: expected 1 .* got 2"),
        ("a,b\n1,2\n3,oak\n", 'line 3, column "b".*"oak"'),
        ('# c\na,b\n"1",2\n3,4\nx,6\n', 'line 5, column "a".*"x"'),
        ("a\n" + "z" * 10_000 + "\n", "line 2.{,200}$"),
        ("a,b\n1,1_000\n", 'line 2, column "b".*"1_000"'),
        ("a,b\n1,2\n,4\n", 'line 3, column "a" is empty'),
        ('a\n1\n""\n', 'line 3, column "a" is empty'),
        ("a\n1\r6\n\n3\n", "line 4 is blank"),
        ("a\n1\n \n3\n", "line 3 is blank"),
        ("a,b\n1,2\n3,nan\n", 'line 3, column "b" is nan'),
        ('a,b\n"1",2\n3,-inf\nnan,1\n', 'line 3, column "b" is -inf.*2 such'),
        ("# one\n# two\na,b\n1,1e999\n", 'line 4, column "b" is inf'),
        ("a,weight\n1,1\n2,-0.5\n", 'line 3, column "weight" is -0.5'),
        ("a,weight\n1,0\n2,0\n", "weights are zero"),
        ("a,chain\n1,0\n2,0.5\n", 'line 3, column "chain" is 0.5'),
        ("a,draw\n1,1e300\n", r'line 2, column "draw" is 1e\+300'),
        ("a,cost\n1,inf\n", 'line 2, column "cost" is inf'),
        ("weight,cost\n1,2\n", 'no coordinate.*"weight", "cost"'),
        ("theta,score:thetta\n1,2\n", '"score:theta"; .*"score:thetta"'),
        ('a,b\n1,"2\n3,4\n', "line 2"),
        ('a,b\n3,4\n"0.5"1,2\n', "line 3"),
        ('"a"c,b\n3,4\n', "line 1"),
        ("a,b\n1,\u0662\n", 'line 2, column "b"'),
    ],
)
def test_errors_name_the_place(text: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"draws\.csv.*{words}"):
        read(text)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    for data, words in ((b"a,b\n1,2\n3,\xe9\n", 'line 3, column "b"'), (b"a,\xe9\n1,2\n", "line 1 .*UTF-8")):
        with pytest.raises(InputError, match=words):
            read_csv(data, "draws.csv")


def test_a_comment_may_contain_the_header() -> None:
    assert read("# a long run\n# a,b\n1.5,2\n3,4\n").names == ("a", "b")


LOGS = [-1000.0, -1001.0, -2000.0]


def weighted(name: str, values: Any, **options: Any) -> Sample:
    rows = "".join(f"{k},{k + 10},{value!r}\n" for k, value in enumerate(values))
    return read_sample(io.StringIO(f"a,b,{name}\n{rows}"), **options)


@pytest.mark.parametrize("columns", [None, ["a", "b"]])
@pytest.mark.parametrize(
    "name",
    [
        *("weights", "w", "Weight", "_weight", "weight__", "importance", "multiplicity", "logw", "logwt", "log_weight"),
        *("wt", "wts", "wgt", "iw", "lw", "normalized_weight", "normalized_weights", "log_importance_weight"),
        "log_importance_weights",
    ],
)
def test_columns_that_may_hold_weights_must_be_confirmed(name: str, columns: list[str] | None) -> None:
    with pytest.raises(InputError, match=f'"{name}".*--weights'):
        weighted(name, [1.0, 2.0, 4.0], columns=columns)
    if name.startswith("l"):
        with pytest.warns(ReadingWarning, match=f'"{name}" as log weights, exponentiated'):
            sample = weighted(name, LOGS, columns=columns, weights=name)
        np.testing.assert_allclose(sample.weights, [1.0, np.exp(-1.0), 0.0])
        assert sample.weights[2] == 0.0
    else:
        sample = weighted(name, [1.0, 2.0, 4.0], columns=columns, weights=name)
        np.testing.assert_array_equal(sample.weights, [1.0, 2.0, 4.0])
    assert sample.names == ("a", "b")
    equal = weighted(name, [1.0, 2.0, 4.0], columns=["a", "b"], weights="none")
    assert (equal.names, equal.weights) == (("a", "b"), None)


def test_reserved_names_of_weights() -> None:
    for columns in (None, ["a", "b"]):
        np.testing.assert_array_equal(weighted("weight", [1.0, 2.0], columns=columns).weights, [1.0, 2.0])
        with pytest.warns(ReadingWarning, match="exponentiated"):
            assert weighted(".log_weight", LOGS, columns=columns).weights[0] == 1.0
    assert weighted("weight", [1.0, 2.0], weights="none").names == ("a", "b", "weight")
    with pytest.raises(InputError, match='"weight", "w"'):
        read("a,weight,w\n1,2,3\n")
    with pytest.raises(InputError, match=r'"wt".*did you mean'):
        weighted("w", [1.0], weights="wt")
    with pytest.raises(UsageError, match="weights"):
        weighted("w", [1.0], weights=3)
    assert read("a,w\n1,2\n", ["w"]).names == ("w",)  # the user states that it is a coordinate


@pytest.mark.parametrize("comment", ["0.1,0.2", "a,0.2", "a,nan"])
def test_a_comment_with_numbers_is_not_a_header(comment: str) -> None:
    with pytest.raises(InputError, match="line 2: expected a header"):
        read(f"#{comment}\n1,2\n3,4\n")


def test_a_comment_after_a_row_of_numbers_is_refused() -> None:
    assert len(read("a,b\n# of a run\n1,2\n3,4\n")) == 2
    for text in ("a,b\n1,2\n#3,4\n5,6\n", "#a,b\n1,2\n#3,4\n"):
        with pytest.raises(InputError, match="line 3 is a comment"):
            read(text)


def test_columns_are_selected_in_the_requested_order_with_their_scores() -> None:
    sample = read("a,b,c,score:a,score:b,score:c\n1,2,3,4,5,6\n", ["c", "a"])
    assert sample.names == ("c", "a")
    assert sample.points.tolist() == [[3, 1]]
    assert sample.scores.tolist() == [[6, 4]]


@pytest.mark.parametrize("cell", ["oak", "", "nan"])
def test_cells_of_other_columns_may_have_any_content(cell: str) -> None:
    assert read(f"a,b\n1,{cell}\n2,3\n", ["a"]).points[:, 0].tolist() == [1, 2]


def test_unknown_columns() -> None:
    with pytest.raises(InputError, match=r'"theta3" .*did you mean "theta'):
        read("theta1,theta2\n1,2\n", ["theta3"])
    with pytest.raises(InputError, match=r'no coordinate named "weight"; it has "a", "b"'):
        read("a,b,weight\n1,2,3\n", ["weight"])
    with pytest.raises(UsageError, match="ab"):
        read_csv(b"a,b\n1,2\n", "draws.csv", Selection("ab"))
    with pytest.raises(UsageError, match=r"\[\]"):
        read("a,b\n1,2\n", [])
    with pytest.raises(UsageError, match='"a" twice'):
        read("a,b\n1,2\n", ["a", "a"])


def test_written_text() -> None:
    sample = Sample(
        points=[[0.1, -0.0], [5e-324, 1e308]],
        scores=[[1.0, 2.0], [3.0, 4.0]],
        weights=[1.0, 2.0],
        cost=[0.0, 10.0],
        chain=[0, 0],
        draw=[0, 1],
        names=("a[0,1]", "b"),
    )
    assert write_csv(sample, "out.csv").decode() == (
        'chain,draw,"a[0,1]",b,"score:a[0,1]",score:b,weight,cost\n'
        "0,0,0.1,-0.0,1.0,2.0,1.0,0.0\n"
        "0,1,5e-324,1e+308,3.0,4.0,2.0,10.0\n"
    )


@pytest.mark.parametrize(
    "names", [("1", "2"), ("# a", "b"), (" a", "b"), ("", "b"), ("a;b",), ("lp__",), (".chain", "x")]
)
def test_names_that_would_be_misread_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"out\.csv.*\.npz"):
        write_csv(Sample(points=np.ones((1, len(names))), names=names), "out.csv")


@pytest.mark.parametrize("name", ["weight", "chain", "score:x"])
def test_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f'"{name}".*reserved'):
        write_csv(Sample(points=np.ones((1, 2)), names=("x", name)), "out.csv")


def test_many_blank_lines_at_the_end_are_skipped() -> None:
    assert read("a,b\n1,2\n" + "\n" * 2_000_000).points.tolist() == [[1.0, 2.0]]


def test_names_that_are_formulas_are_written_with_an_apostrophe() -> None:
    names = ("=cmd|' /C calc'!A0", "+x", "-y", "@z", "'=quoted", "''+twice", "'kept", "a=b", "x-1")
    sample = Sample(np.arange(9.0)[None], names=names, scores=np.ones((1, 9)))
    data = write_csv(sample, "out.csv")
    header = data.decode().splitlines()[0].split(",")
    assert header[:9] == ["'=cmd|' /C calc'!A0", "'+x", "'-y", "'@z", "''=quoted", "'''+twice", "'kept", "a=b", "x-1"]
    assert not [each for each in header if each[0] in "=+-@"]
    assert read_csv(data, "out.csv").names == names
