"""``steinkit warm`` compiles all kernels that later work needs."""

import numpy as np
from numba.core import event

import steinkit as sk
from steinkit import samplers


class _Compiled(event.Listener):
    def __init__(self):
        self.names = []

    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        if function.__module__.startswith("steinkit"):
            self.names.append(function.__name__)

    def on_end(self, ended):
        pass


def test_warm_compiles_all_kernels(steinkit):
    done = steinkit("warm")
    assert done.code == 0
    assert "1 of " in done.err
    rng, posterior = np.random.default_rng(1), sk.targets.MixturePosterior()
    with event.install_listener("numba:compile", compiled := _Compiled()):
        sk.graph_stein_discrepancy(rng.standard_normal((300, 2)), sk.targets.Normal([0.0, 0.0]), tolerance=1e-2)
        sk.greedy_spanner(rng.standard_normal((2500, 2)))
        sk.graph_stein_discrepancy(rng.standard_normal(50), sk.targets.StudentT(5.0))
        sk.verdict(rng.standard_normal((100, 3)), sk.targets.Normal(np.zeros(3)))
        samplers.sgld(posterior, step_size=1e-3, batch_size=7, draws=20, chains=2, seed=0)
        samplers.rwmh(posterior, proposal_scale=0.1, draws=20, chains=2, seed=0)
    assert compiled.names == []
