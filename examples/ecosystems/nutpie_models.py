"""Traces of nutpie for eight schools in both forms, and for a logistic regression with a simplex.

nutpie can store the unconstrained draws and their gradients. The verdict uses the stored gradients, so the models are
not needed.
"""

import warnings

import nutpie
import pymc as pm
from cases import Table, centred_score, logistic_data, logistic_score, non_centred_score, settings
from pymc_models import only_shares, regression_and_shares, schools, shares_score

import steinkit as sk


def traced(model, **options):
    """Sample a PyMC model with nutpie."""
    options |= {"chains": 2, "seed": 1, "progress_bar": False, "store_unconstrained": True, "store_gradient": True}
    return nutpie.sample(nutpie.compile_pymc_model(model), **options)


def check_schools(table):
    """Test draws of eight schools for both priors of tau, in both forms."""
    for centred, score_of in ((False, non_centred_score), (True, centred_score)):
        case = f"eight schools, {'centred' if centred else 'non-centred'}"
        trace = traced(schools(centred=centred), draws=4000, target_accept=0.99)
        target, sample = sk.from_nutpie(trace)
        table.judge(case, target, sample)
        by_hand = score_of(sample.points[:, 0], sample.points[:, 1], sample.points[:, 2:])
        table.agree(case, sample.scores, by_hand, tuple(by_hand))
        table.cost(case, target, sample.points)

    case = "eight schools, non-centred, HalfNormal(1) for HalfCauchy(5)"
    trace = traced(schools(centred=False, tau=lambda: pm.HalfNormal("tau", 1.0)), draws=4000)
    target, sample = sk.from_pymc(schools(centred=False), trace)  # the stored gradients belong to the other prior
    table.judge(case, target, sample, right=False)
    target, sample = sk.from_pymc(schools(centred=True), trace)  # the same draws, expressed in terms of theta
    table.judge("the same, centred", target, sample, right=False)


def main():
    small = settings(__doc__).small
    warnings.filterwarnings("ignore", module="(nutpie|pytensor|arviz)")
    table = Table("nutpie")
    if not small:
        check_schools(table)

    X, y = logistic_data()
    case = "simplex" if small else "logistic regression and a simplex"
    model = only_shares() if small else regression_and_shares(X, y)
    trace = traced(model, draws=1000 if small else 4000)
    target, sample = sk.from_nutpie(trace)
    table.judge(case, target, sample)
    by_hand = {} if small else logistic_score(X, y, sample.points[:, 0], sample.points[:, 1:3])
    by_hand["w"] = shares_score(trace.posterior["w"].values.reshape(-1, 3))
    table.agree(case, sample.scores, by_hand, tuple(by_hand))

    case = "the same with its model"
    target, sample = sk.from_nutpie(trace, model)
    table.agree(case, target.score(sample.points), by_hand, tuple(by_hand))
    table.cost(case, target, sample.points)
    table.close()


if __name__ == "__main__":
    main()
