"""User code that Pyright checks against the installed wheel: types of names, arguments and results.

It is never run. `.ci/run` checks it with Pyright: every `assert_type` is an assertion, and invalid calls are marked,
which makes Pyright report an error if it accepts one.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from typing import assert_type

import numpy as np

import steinkit as sk
from steinkit import samplers

draws = np.random.default_rng(0).standard_normal((100, 2))
target = sk.Target(score=lambda x: -x, names=["a", "b"])
assert_type(target.names, tuple[str, ...] | None)
assert_type(target.dim, int | None)

sample = sk.Sample(draws, names=["a", "b"])
assert_type(sample.names, tuple[str, ...])
assert_type(sk.Sample([[0.0, 1.0], [2.0, 3.0]], weights=[1, 3], chain=[0, 1], names=target.names), sk.Sample)
assert_type(sk.read_sample("draws.csv"), sk.Sample)
assert_type(sk.as_sample(draws, dims=("draw", "coordinate")), sk.Sample)

verdict = sk.verdict(sample, target, level=0.05)
assert_type(verdict, sk.Verdict)
assert_type(verdict.is_biased, bool)
assert_type(verdict.summary(), str)

graph = sk.graph_stein_discrepancy(sample, target, tolerance=1e-6)
assert_type(graph, sk.GraphSteinDiscrepancy)
assert_type(graph.lower, float)
assert_type(graph.upper, float)
assert_type(sk.sliced_stein_discrepancy(draws, target), sk.SlicedSteinDiscrepancy)
assert_type(sk.kernel_stein_discrepancy(draws, target, kernel=sk.IMQ()), sk.KernelSteinDiscrepancy)
assert_type(sk.chain_diagnostics(draws), sk.ChainDiagnostics)

posterior = sk.targets.MixturePosterior()
chain = samplers.sgld(posterior, step_size=1e-3, batch_size=5, draws=10, seed=0)
assert_type(chain, samplers.Draws)
assert_type(chain.to_sample(), sk.Sample)
assert_type(sk.compare({"one": draws, "other": chain.to_sample()}, target), sk.Comparison)

try:
    sk.verdict(sample, target)
except sk.TimeLimitError as error:
    assert_type(error.doing, str)

sk.verdict(sample, target, levle=0.05)  # pyright: ignore[reportCallIssue]
sk.Sample(draws, names=2)  # pyright: ignore[reportArgumentType]
sk.Target(score="-x")  # pyright: ignore[reportArgumentType]
