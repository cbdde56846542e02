"""Log densities written in PyTorch, and draws from Hamiltonian Monte Carlo as named tensors.

PyTorch has no model objects. The log density is a function of a dictionary of parameters, and the argument
`constraints` defines the transforms, which are PyTorch's bijections.
"""

import math

import numpy as np
import torch
from cases import (
    COUNTS,
    EFFECTS,
    ERRORS,
    Table,
    centred_score,
    logistic_data,
    logistic_score,
    non_centred_score,
    settings,
)
from torch.distributions import Cauchy, Normal, biject_to, constraints

import steinkit as sk

torch.set_default_dtype(torch.float64)
Y, SIGMA = torch.tensor(EFFECTS), torch.tensor(ERRORS)
X, RESPONSE = map(torch.tensor, logistic_data())
POSITIVE, SIMPLEX = constraints.positive, constraints.simplex


def cauchy_prior(tau):
    return Cauchy(0.0, 5.0).log_prob(tau)


def wrong_prior(tau):
    return Normal(0.0, 1.0).log_prob(tau)


def centred(p, prior=cauchy_prior):
    theta = Normal(p["mu"], p["tau"]).log_prob(p["theta"]).sum()
    return Normal(0.0, 5.0).log_prob(p["mu"]) + prior(p["tau"]) + theta + Normal(p["theta"], SIGMA).log_prob(Y).sum()


def non_centred(p, prior=cauchy_prior):
    priors = Normal(0.0, 5.0).log_prob(p["mu"]) + prior(p["tau"]) + Normal(0.0, 1.0).log_prob(p["z"]).sum()
    return priors + Normal(p["mu"] + p["tau"] * p["z"], SIGMA).log_prob(Y).sum()


def logistic(p):
    logits = p["intercept"] + X @ p["beta"]
    priors = Normal(0.0, 2.5).log_prob(p["intercept"]) + Normal(0.0, 2.5).log_prob(p["beta"]).sum()
    return priors + (RESPONSE * logits - torch.nn.functional.softplus(logits)).sum()


def shares(p):
    return (torch.tensor(COUNTS) * p["w"].log()).sum()


def hmc(log_density, start, constraints, *, step, draws, chains=20, leaps=16, seed=1):
    """Run vectorized Hamiltonian Monte Carlo in unconstrained parameters, with a tenth of the draws as burn-in."""
    generator = torch.Generator().manual_seed(seed)
    maps = {name: biject_to(constraints.get(name, torch.distributions.constraints.real)) for name in start}
    free = {name: maps[name].inv(torch.as_tensor(value)) for name, value in start.items()}
    sizes = [value.numel() for value in free.values()]

    def parameters(x):
        parts = (part.reshape(value.shape) for part, value in zip(x.split(sizes), free.values(), strict=True))
        return {name: maps[name](part) for name, part in zip(free, parts, strict=True)}

    def height(x):
        parts = [part.reshape(value.shape) for part, value in zip(x.split(sizes), free.values(), strict=True)]
        jacobian = sum(maps[n].log_abs_det_jacobian(u, maps[n](u)).sum() for n, u in zip(free, parts, strict=True))
        return log_density(parameters(x)) + jacobian

    heights = torch.vmap(height)

    def slopes(x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(heights(x).sum(), x)[0]

    x = torch.cat([value.reshape(-1) for value in free.values()]).expand(chains, -1)
    x = x + 0.1 * torch.randn(x.shape, generator=generator)
    kept = []
    for k in range(draws // chains + draws // chains // 10):
        p = torch.randn(x.shape, generator=generator)
        energy = heights(x) - 0.5 * (p**2).sum(dim=1)
        size = step * (0.5 + torch.rand((), generator=generator))
        y, q = x, p + 0.5 * size * slopes(x)
        for _ in range(leaps):
            y = y + size * q
            q = q + size * slopes(y)
        q = q - 0.5 * size * slopes(y)
        change = heights(y) - 0.5 * (q**2).sum(dim=1) - energy
        accepted = torch.rand(chains, generator=generator).log() < change.nan_to_num(nan=-math.inf)
        x = torch.where(accepted[:, None], y, x)
        if k >= draws // chains // 10:
            kept.append(x)
    named = torch.vmap(parameters)(torch.stack(kept, dim=1).reshape(-1, x.shape[1]))
    return {name: value.reshape(chains, len(kept), *value.shape[1:]) for name, value in named.items()}


def in_centred_form(draws):
    mu, tau = draws["mu"], draws["tau"]
    return {"mu": mu, "tau": tau, "theta": mu[..., None] + tau[..., None] * draws["z"]}


def check_schools(table, draws):
    """Test draws of eight schools for both priors of tau, in both forms."""
    dims, positive = ("chain", "draw"), {"tau": POSITIVE}
    case, start = "eight schools, non-centred", {"mu": 0.0, "tau": 2.0, "z": torch.zeros(8)}
    right = hmc(non_centred, start, positive, step=0.2, draws=draws)
    target, sample = sk.from_torch(non_centred, right, constraints=positive, dims=dims)
    table.judge(case, target, sample)
    by_hand = non_centred_score(sample.points[:, 0], sample.points[:, 1], sample.points[:, 2:])
    table.agree(case, target.score(sample.points), by_hand, ("mu", "log_tau", "z"))
    table.cost(case, target, sample.points)
    wrong = hmc(lambda p: non_centred(p, wrong_prior), start, positive, step=0.2, draws=draws)
    target, sample = sk.from_torch(non_centred, wrong, constraints=positive, dims=dims)
    table.judge(case, target, sample, right=False)

    case = "eight schools, centred"
    target, sample = sk.from_torch(centred, in_centred_form(wrong), constraints=positive, dims=dims)
    table.judge(case, target, sample, right=False)
    target, sample = sk.from_torch(centred, in_centred_form(right), constraints=positive, dims=dims)
    table.judge(case, target, sample)
    by_hand = centred_score(sample.points[:, 0], sample.points[:, 1], sample.points[:, 2:])
    table.agree(case, target.score(sample.points), by_hand, ("mu", "log_tau", "theta"))
    table.cost(case, target, sample.points)


def main():
    small = settings(__doc__).small
    draws = 2000 if small else 20000
    table = Table("torch")
    if not small:
        check_schools(table, draws)

    start = {"intercept": 0.0, "beta": torch.zeros(2)}
    drawn = hmc(logistic, start, {}, step=0.1, draws=draws, leaps=6)
    target, sample = sk.from_torch(logistic, drawn, dims=("chain", "draw"))
    table.judge("logistic regression", target, sample)
    by_hand = logistic_score(*logistic_data(), sample.points[:, 0], sample.points[:, 1:])
    table.agree("logistic regression", target.score(sample.points), by_hand, ("intercept", "beta"))
    table.cost("logistic regression", target, sample.points)

    torch.manual_seed(1)
    posterior = torch.distributions.Dirichlet(torch.tensor(COUNTS + 1.0))  # sampled in closed form
    narrow = torch.distributions.Dirichlet(2.0 * torch.tensor(COUNTS + 1.0))
    right, wrong = ({"w": each.sample((draws,))} for each in (posterior, narrow))
    target, sample = sk.from_torch(shares, wrong, constraints={"w": SIMPLEX})
    table.judge("shares on a simplex", target, sample, right=False)
    target, sample = sk.from_torch(shares, right, constraints={"w": SIMPLEX})
    table.judge("shares on a simplex", target, sample)
    sticks = 1.0 / (1.0 + np.exp(-(sample.points - np.log([2.0, 1.0]))))
    alpha = COUNTS + 1.0
    by_hand = {"w": alpha[:2] - sticks * [alpha.sum(), alpha[1:].sum()]}
    table.agree("shares on a simplex", target.score(sample.points), by_hand, ("w",))
    table.close()


if __name__ == "__main__":
    main()
