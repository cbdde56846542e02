"""Results of measures with given numbers."""

from dataclasses import dataclass, field

import numpy as np

import steinkit as sk
from steinkit.comparison_result import Comparison
from steinkit.measurement import BracketResult, Reference, terms_of
from steinkit.measures.scoring import ComparedSample


@dataclass(frozen=True, eq=False)
class Bracket(BracketResult):
    """A bracket under any name."""

    measure: str = "new"
    title: str = "new Stein discrepancy"
    lower: float = 0.49
    upper: float = 0.51
    names: tuple[str, ...] = ()
    parts: tuple[float, ...] = ()
    claim: str = "proved"
    unranked: str = ""
    sample: sk.DistinctSample = field(default_factory=lambda: sk.Sample(np.arange(10.0)[:, None]).distinct())
    seconds: dict = field(default_factory=lambda: {"scores": 0.1, "solve": 2.0})
    warnings: tuple[str, ...] = ()

    @property
    def value(self):
        return 0.5 * (self.lower + self.upper)

    @property
    def claims(self):
        return self.claim

    @property
    def terms(self):
        return terms_of(self.names, self.parts, self.parts)

    def to_dict(self):
        return {"measure": self.measure, "value": self.value, "lower": self.lower, "upper": self.upper}


def reference(*values, width=0.0, n=10, **more):
    """Return reference samples with these values."""
    middle = np.array(values)
    return Reference(middle - width, middle + width, n, **more)


def comparison(brackets, measure="graph", *, references=(), ranking=None, unranked=(), **more):
    """Return a comparison of samples with these brackets, best first."""
    ranking = [(name,) for name in brackets] if ranking is None else ranking
    sample = sk.Sample(np.random.default_rng(0).standard_normal((50, 1)))
    samples = []
    for name, (lower, upper) in brackets.items():
        reason = "it is at its ceiling" if name in unranked else ""
        result = Bracket(measure, "", lower, upper, unranked=reason)
        samples.append(ComparedSample(name, sample, {measure: result}, {}, **more.get(name, {})))
    groups = tuple(map(tuple, ranking))
    return Comparison(tuple(samples), (measure,), {measure: groups}, {measure: tuple(references)}, None, ())
