from __future__ import annotations

import numpy as np
import pytest

from steinkit.errors import InputError, ReadingWarning, UsageError
from steinkit.files import csv_format
from steinkit.files.csv_format import read_csv, write_csv
from steinkit.sample import Sample


def read(text: str, columns: list[str] | None = None) -> Sample:
    return read_csv(text.encode(), "draws.csv", columns)


def test_every_kind_of_column_goes_to_its_place() -> None:
    sample = read("chain,b,weight,score:a,draw,a,cost,score:b\n0,1,2,3,4,5,6,7\n1,10,20,30,40,50,60,70\n")
    assert sample.names == ("b", "a")
    assert sample.points.tolist() == [[1, 5], [10, 50]]
    assert sample.scores is not None
    assert sample.scores.tolist() == [[7, 3], [70, 30]]
    assert sample.weights is not None
    assert sample.weights.tolist() == [2, 20]
    assert sample.cost is not None
    assert sample.cost.tolist() == [6, 60]
    assert sample.chain is not None
    assert sample.chain.tolist() == [0, 1]
    assert sample.draw is not None
    assert sample.draw.tolist() == [4, 40]


def test_draws_keep_the_order_of_the_file_whatever_their_labels() -> None:
    sample = read("chain,draw,x\n1,0,5\n0,1,6\n0,0,7\n")
    assert sample.points[:, 0].tolist() == [5, 6, 7]
    assert sample.chain is not None
    assert sample.chain.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        "a,b\n1,2\n3,4",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4\r",
        "\r\r\na,b\r\n1,2\r\n3,4\r\n",
        "\ufeffa,b\n1,2\n3,4\n",
        '"a","b"\n1,2\n3,4\n',
        ' a , "b"\n 1 , 2\n3,4\n',
        'a,b\n"1","2"\n3,4\n',
        "a,b\n1,2\n3,4\n\n \n\n",
        "# made by hand\n#\n\na,b\n1,2\n3,4\n",
        "a,b\n1e0,+2.\n0.3E1,4.0\n",
    ],
    ids=[
        "plain",
        "open end",
        "crlf",
        "cr",
        "cr before crlf",
        "bom",
        "quoted names",
        "spaces",
        "quoted cells",
        "blank end",
        "comments",
        "e",
    ],
)
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


def test_decimal_commas_and_points_far_apart_are_refused() -> None:
    with pytest.raises(InputError, match=r"decimal comma \(line 2\) and with a decimal point \(line 102\)"):
        read("a;b\n" + "1,5;2\n" * 100 + "1.5;2\n" * 100)


def test_columns_of_samplers_are_labels_or_left_out_and_said_once() -> None:
    text = "alpha,lp__,divergent__,.chain,.iteration,.draw\n1,-2,0,1,1,1\n3,NA,1,2,1,2\n"
    with pytest.warns(ReadingWarning) as said:
        sample = read(text)
    assert sample.names == ("alpha",)
    assert sample.chain is not None
    assert sample.chain.tolist() == [1, 2]
    assert sample.draw is not None
    assert sample.draw.tolist() == [1, 1]
    assert sample.divergent is not None
    assert sample.divergent.tolist() == [False, True]
    (only,) = said
    for words in ('".chain" as chain', '".iteration" as draw', '".draw", "lp__" left out'):
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
def test_which_column_becomes_which_label(header: str, chain: int | None, draw: int | None) -> None:
    sample = read(f"{header}\n1,2,3,4\n")
    assert sample.names[-1] == "a"
    assert len(sample.names) == 1 + header.count("other")
    assert (None if sample.chain is None else int(sample.chain[0])) == chain
    assert (None if sample.draw is None else int(sample.draw[0])) == draw


def test_coordinates_that_are_named_are_coordinates() -> None:
    assert read("a,weights,mine__\n1,2,3\n", ["weights", "mine__"]).points.tolist() == [[2, 3]]
    assert read(".chain,a\n1,2\n", [".chain"]).names == (".chain",)
    assert read("a,weight,weights\n1,2,3\n").names == ("a", "weights")
    assert read("a,mine__\n1,2\n").names == ("a", "mine__")


def test_letters_that_statisticians_tell_apart_are_no_look_alikes() -> None:
    assert read("a,\u03b1,v,\u03bd,\u0430\u0431\n1,2,3,4,5\n").names[1] == "\u03b1"


def test_a_comment_of_other_columns_is_no_header() -> None:
    with pytest.raises(InputError) as refused:
        read("# of a long run\n1.5,2\n3,4\n")
    assert "take off" not in str(refused.value)


def test_quoted_names_may_hold_commas() -> None:
    assert read('"theta[0,1]","theta[0,2]"\n1,2\n').names == ("theta[0,1]", "theta[0,2]")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["draws.csv is empty", 'header line such as "x1,x2"']),
        ("\n\n", ["draws.csv is empty", "2 lines without content"]),
        ("a,b\n", ["has a header but no draws", "one line a draw"]),
        ("a,b\n\n\n", ["has a header but no draws"]),
        ("1.5,2\n3,4\n", ["line 1 holds numbers", 'header line such as "x1,x2"']),
        ("# a,b\n1.5,2\n3,4\n", ["line 2 holds numbers", '"# a,b" is the header, take off its "#"']),
        ("a,a\n1,2\n", ['two columns are named "a"', "name of its own"]),
        (",a\n0,2\n", ["column 1 has no name", "index=False"]),
        (",a\n2,2\n1,3\n", ["column 1 has no name", "R: row.names=FALSE"]),
        ('"",a\none,2\n', ["column 1 has no name", "counts 1, 2, 3"]),
        ("a,,b\n1,2,3\n", ["column 2 has no name"]),
        (",a,\n1,2,3\n", ["column 3 has no name"]),
        ("a;b\n1;2\n3;x\n", ['line 3, column "b" holds "x"']),
        ("a;b\n1,5;2\n3;2.5\n", ["decimal comma (line 2)", "decimal point (line 3)", "in one way"]),
        ("a;b\n1,5;2\nn.a.;3\n", ['line 3, column "a" holds "n.a."', "number is wanted"]),
        ("a;b\n1,2,3;2\n", ['line 2, column "a" holds "1,2,3"']),
        ("a;b\n1.000,5;2\n", ['line 2, column "a" holds "1.000,5"', "number is wanted"]),
        ("a;b\n1;2\n3;2;1\n", ["line 3: 3 values where the header names 2 columns"]),
        ("a\tb\n1\t2\n3\n", ["line 3: 1 value where the header names 2 columns"]),
        ("a,b\n1,2\nNA,4\n", ['draws.csv, line 3, column "a" is NA, a missing value', "na.omit"]),
        ('"";"a"\n"1";NA\n', ['line 2, column "a" is NA, a missing value']),
        ("a,weights\n1,1\n", ['column "weights"', "weights of the draws", 'rename it "weight"', "columns="]),
        ("a,.log_weight\n1,1\n", ['column ".log_weight"', "exp(.log_weight", '"weight"']),
        (".chain,.variable,.value\n1,a,2\n", ["a row for every draw of every parameter", "spread_draws"]),
        (".chain,lp__\n1,2\n", ["has no coordinate", '".chain", "lp__"']),
        ("a,.chain\n1,0.5\n", ['line 2, column ".chain" is 0.5']),
        ("a,b\n1,2\n3,4\n5,6\n1,2,3\n", ["line 5: 3 values where the header names 2 columns"]),
        ("a,b\n1,2\n3\n", ["line 3: 1 value where the header names 2 columns"]),
        ("a\n1\n2,3\n", ["line 3: 2 values where the header names 1 column;"]),
        ("a,b\n1,2,\n3,4,\n", ["line 2: 3 values where the header names 2 columns"]),
        ("a,b\n1,2\n3,oak\n", ['line 3, column "b" holds "oak"', "number is wanted", "columns="]),
        ("a,b\n1,1_000\n", ['line 2, column "b" holds "1_000"']),
        ("a,b\n1,2\n,4\n", ['line 3, column "a" is empty', "fill it in"]),
        ('a\n1\n""\n', ['line 3, column "a" is empty', "fill it in"]),
        ("a\n1\r6\n\n3\n", ["line 4 is blank"]),
        ("a,b\n1,2\n\n3,4\n", ["line 3 is blank", "delete it"]),
        ("a\n1\n \n3\n", ["line 3 is blank"]),
        ("a,b\n1,2\n3,nan\n", ['draws.csv, line 3, column "b" is nan']),
        ('a,b\n"1",2\n3,-inf\nnan,1\n', ['line 3, column "b" is -inf', "2 such values"]),
        ("# one\n# two\na,b\n1,1e999\n", ['line 4, column "b" is inf']),
        ("a,weight\n1,1\n2,-0.5\n", ['line 3, column "weight" is -0.5', "non-negative"]),
        ("a,weight\n1,nan\n", ['line 2, column "weight" is nan']),
        ("a,weight\n1,0\n2,0\n", ["draws.csv: all weights are zero"]),
        ("a,chain\n1,0\n2,0.5\n", ['line 3, column "chain" is 0.5', "whole number"]),
        ("a,draw\n1,1e300\n", ['line 2, column "draw" is 1e+300', "whole number"]),
        ("a,cost\n1,inf\n", ['line 2, column "cost" is inf']),
        ("weight,cost\n1,2\n", ["has no coordinate", '"weight", "cost"']),
        ("a,score:c\n1,2\n", ['column "score:c" belongs to no coordinate', '"a"']),
        ("theta,score:thetta\n1,2\n", ['did you mean "theta"?']),
        ("a,b,score:b\n1,2,3\n", ['coordinate "a" has no score', 'add "score:a"']),
        ('a,b\n1,"2\n3,4\n', ["line 2 cannot be read as CSV (unexpected end of data)"]),
        ('a,b\n3,4\n"0.5"1,2\n', ["line 3 cannot be read as CSV"]),
        ('"a"c,b\n3,4\n', ["line 1: the header cannot be read"]),
        ("a,b\n1,\u0662\n", ['line 2, column "b" holds', "number is wanted"]),
    ],
)
def test_faults_are_named_with_their_place(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    for word in ["draws.csv", *words]:
        assert word in str(caught.value)


def test_lines_are_counted_past_quoted_cells_and_comments() -> None:
    with pytest.raises(InputError, match=r'line 5, column "a" holds "x"'):
        read('# c\na,b\n"1",2\n3,4\nx,6\n')


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(InputError, match=r"draws\.csv, line 3 is not UTF-8 text \(byte 0xe9\); save the file as"):
        read_csv(b"a,b\n1,2\n3,\xe9\n", "draws.csv")


def test_a_giant_cell_does_not_fill_the_screen() -> None:
    with pytest.raises(InputError) as caught:
        read("a\n" + "z" * 10_000 + "\n")
    assert len(str(caught.value)) < 250


def test_a_cell_beyond_the_limit_of_the_csv_module() -> None:
    with pytest.raises(InputError, match="line 2 cannot be read as CSV"):
        read("a\n" + "z" * 200_000 + "\n")


def test_columns_chooses_in_the_order_asked_with_the_scores() -> None:
    sample = read("a,b,c,score:a,score:b,score:c\n1,2,3,4,5,6\n", ["c", "a"])
    assert sample.names == ("c", "a")
    assert sample.points.tolist() == [[3, 1]]
    assert sample.scores is not None
    assert sample.scores.tolist() == [[6, 4]]


@pytest.mark.parametrize("cell", ["oak", "", "nan"])
def test_what_is_not_chosen_is_not_looked_at(cell: str) -> None:
    assert read(f"a,b\n1,{cell}\n2,3\n", ["a"]).points[:, 0].tolist() == [1, 2]


def test_a_log_density_column_may_be_asked_for() -> None:
    assert read("lp__,theta\n-3,2\n", ["lp__"]).names == ("lp__",)


def test_unknown_columns() -> None:
    with pytest.raises(InputError, match=r'draws\.csv has no coordinate named "theta3" [(]did you mean "theta'):
        read("theta1,theta2\n1,2\n", ["theta3"])
    with pytest.raises(InputError, match=r'no coordinate named "weight"; it has "a", "b"'):
        read("a,b,weight\n1,2,3\n", ["weight"])
    with pytest.raises(UsageError, match=r'list of coordinate names such as \["a"\]; received \'ab\''):
        read_csv(b"a,b\n1,2\n", "draws.csv", "ab")
    with pytest.raises(UsageError, match="received \\[\\]"):
        read("a,b\n1,2\n", [])
    with pytest.raises(UsageError, match=r'columns names "a" twice'):
        read("a,b\n1,2\n", ["a", "a"])


def test_written_text_is_what_a_reader_expects() -> None:
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


def test_rows_beyond_one_batch_are_all_written() -> None:
    sample = Sample(points=np.arange(120_001.0))
    assert read_csv(write_csv(sample, "out.csv"), "out.csv").points.tolist() == sample.points.tolist()


@pytest.mark.parametrize(
    "names", [("1", "2"), ("# a", "b"), (" a", "b"), ("", "b"), ("a;b",), ("lp__",), (".chain", "x")]
)
def test_names_that_would_be_misread_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"do not survive in a CSV header; rename .* \.npz"):
        write_csv(Sample(points=np.ones((1, len(names))), names=names), "out.csv")


@pytest.mark.parametrize("name", ["weight", "chain", "score:x"])
def test_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f'coordinate named "{name}".*reserved'):
        write_csv(Sample(points=np.ones((1, 2)), names=("x", name)), "out.csv")


def test_the_fast_and_the_slow_reader_agree_to_the_last_bit() -> None:
    values = np.random.default_rng(0).normal(size=(200, 3)) * 10.0 ** np.arange(-300, 301, 300)
    plain = write_csv(Sample(points=values), "out.csv")
    head, _, body = plain.decode().partition("\n")
    quoted = head + '\n"' + body.replace(",", '","').replace("\n", '"\n"')[:-1]
    fast, slow = read_csv(plain, "fast.csv"), read(quoted)
    assert fast.points.tobytes() == slow.points.tobytes() == values.tobytes()


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n \n"])
def test_a_fault_amid_many_plain_rows_is_named_however_the_file_ends(end: str) -> None:
    values = np.random.default_rng(0).normal(size=(300, 2)).round(6)
    lines = [",".join(map(repr, row)) for row in values.tolist()]
    text = "a,b\n" + "\n".join(lines) + end
    assert read(text).points.tobytes() == values.tobytes()
    for fault, words in (("", "is blank"), ("1,2,3", "3 values"), ("1", "1 value "), ("1,x", 'column "b" holds "x"')):
        with pytest.raises(InputError, match=rf"line 202.*{words}"):
            read("a,b\n" + "\n".join([*lines[:200], fault, *lines[200:]]) + end)


def test_plain_files_take_the_fast_road(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("cells were read one by one")

    monkeypatch.setattr(csv_format, "read_cells", refuse)
    values = np.random.default_rng(0).normal(size=(1000, 2))
    for text in (write_csv(Sample(points=values), "out.csv").decode(), "# c\r\na\r\n1\r\n2\r\n\r\n"):
        assert len(read(text)) in (1000, 2)
    with pytest.raises(AssertionError, match="one by one"):
        read('a\n"1"\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n" * 41, "has no header in its first 40 lines"),
        ("#\n" * 41 + "a\n1\n", "has no header in its first 40 lines"),
        ("a,b\n" + "\n" * 41, "has more than 40 blank lines from line 2;"),
        ("a,b\n1,2\n" + "\n" * 41 + "3,4\n", "has more than 40 blank lines from line 3;"),
    ],
)
def test_millions_of_blank_lines_are_not_gone_through(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_format, "MOST_BLANK_LINES", 40)
    with pytest.raises(InputError, match=said):
        read(text)


def test_blank_lines_at_the_end_are_skipped_however_many() -> None:
    assert read("a,b\n1,2\n" + "\n" * 2_000_000).points.tolist() == [[1.0, 2.0]]


def test_names_that_spreadsheets_would_run_are_written_with_an_apostrophe() -> None:
    names = ("=cmd|' /C calc'!A0", "+x", "-y", "@z", "'=quoted", "''+twice", "'kept", "a=b", "x-1")
    sample = Sample(np.arange(9.0)[None], names=names, scores=np.ones((1, 9)))
    data = write_csv(sample, "out.csv")
    header = data.decode().splitlines()[0].split(",")
    assert header[:9] == ["'=cmd|' /C calc'!A0", "'+x", "'-y", "'@z", "''=quoted", "'''+twice", "'kept", "a=b", "x-1"]
    assert not [each for each in header if each[0] in "=+-@"]
    assert read_csv(data, "out.csv").names == names
