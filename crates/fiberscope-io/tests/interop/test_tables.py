"""Tables in Parquet, read by Arrow, against the same tables as CSV.

The environment variable FIBERSCOPE names the command. Run with `pytest test_tables.py`.
"""

import csv
import math
import os
import subprocess

import pytest

FIBERSCOPE = os.environ.get("FIBERSCOPE")
pytestmark = pytest.mark.skipif(
    FIBERSCOPE is None, reason="FIBERSCOPE does not name the command"
)

parquet = pytest.importorskip("pyarrow.parquet")

MEASURES = "identifiable,locally-identifiable,fiber-dimension,functional-dimension,regions,hidden,dead,linear,transparent"


def read(folder, stem, *words):
    """What a command wrote, once as CSV and once by Arrow: names, and columns of numbers."""
    done = subprocess.run(
        [FIBERSCOPE, *words, "-o", folder, "--quiet"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with open(folder / f"{stem}.csv", newline="") as file:
        names, *rows = csv.reader(file)
    columns = [[float(cell or "nan") for cell in column] for column in zip(*rows)]
    table = parquet.read_table(folder / f"{stem}.parquet")
    assert table.column_names == names
    return (
        names,
        columns,
        [
            [math.nan if x is None else x for x in column.to_pylist()]
            for column in table.columns
        ],
    )


@pytest.mark.parametrize(
    ("stem", "words", "least_rows", "least_columns"),
    [
        (
            "survey",
            ["survey", "--widths", "2,2,2,1", "--count", "200", "--measure", MEASURES],
            200,
            11,
        ),
        # More than a page.
        (
            "survey",
            ["survey", "--widths", "1,1,1", "--count", "131100", "--measure", "dead"],
            131100,
            3,
        ),
        # More columns than fit the short form of a list.
        (
            "trajectory",
            [
                "train",
                "--task",
                "f1",
                "--linear",
                "--widths",
                "1,2,2,2,2,1",
                "--epochs",
                "4",
                "--every",
                "2",
            ],
            3,
            16,
        ),
    ],
    ids=["survey", "pages", "columns"],
)
def test_arrow_reads_what_stands_in_the_csv(
    tmp_path, stem, words, least_rows, least_columns
):
    names, expected, found = read(tmp_path / "out", stem, *words)
    assert len(names) >= least_columns and len(found[0]) >= least_rows
    for name, own, theirs in zip(names, expected, found):
        assert len(own) == len(theirs)
        assert all(a == b or (a != a and b != b) for a, b in zip(own, theirs)), name
