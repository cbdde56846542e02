"""Doctor visits of 20,186 person-years of the RAND Health Insurance Experiment, for variable selection.

The response is 1 if a person did not visit a physician in the year (31% of the rows). The features are a column of ones
and measures of site and year, insurance plan, age, sex, family, schooling, income and health, which are standardized to
mean 0 and standard deviation 1.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

_FILE = "randhie.csv.gz"
_AS_THEY_ARE = "time idp lpi fmde tookphys black female child educdec mhi disea physlm xghindx hlthg hlthf hlthp"


def doctor_visits() -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return features (N, D), responses (N,), and names of the features, in the order of the file.

    The first feature is a column of ones.
    """
    with gzip.open(Path(__file__).resolve().parents[1] / "data" / _FILE, "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        columns = dict(zip(names, np.loadtxt(file, delimiter=",").T, strict=True))
    made = {f"site {each}": columns["site"] == each for each in range(2, 7)}
    made |= {f"year {each}": columns["year"] == each for each in range(2, 6)}
    made |= {name: columns[name] for name in _AS_THEY_ARE.split()}
    age = columns["xage"] - 25.0  # centered to reduce the correlation between age and its square
    made |= {
        "log coins": np.log1p(columns["coins"]),
        "log income": np.log(np.maximum(columns["income"], 1.0)),
        "log num": np.log(columns["num"]),
        "age": age,
        "age squared": age**2,
        "female x age": columns["female"] * age,
        "female x child": columns["female"] * columns["child"],
    }
    features = np.column_stack([np.asarray(column, dtype=np.float64) for column in made.values()])
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    ones = np.ones((len(features), 1))
    return np.hstack([ones, features]), (columns["mdvis"] == 0).astype(float), ("one", *made)
