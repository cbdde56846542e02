"""Cost of the measures, their values for biased samples, and error rates of the kernel test.

**Cost.** The program measures the kernel Stein discrepancy of n draws from N(0, I) in ten dimensions (V-statistic,
kernel IMQ(1, -1/2)), with one and two threads. The run time is compared with that of other implementations for the same
draws and scores: `stein-thinning` and `goodpoints` (in double precision), `ksd-metric` (which uses automatic
differentiation and memory O(n^2 d^2)), and the formula in NumPy, by blocks of rows, with the default number of BLAS
threads. Wall times are medians of alternating runs. Peers that are not installed are reported and skipped. The peak
resident memory is measured in a separate process.

**Sensitivity.** All measures are computed for samples with a known defect, for a mixture of two normal distributions in
one dimension. Values are relative to those of independent draws from the target, so that measures can be compared.

**Size and power of the test.** With `--test-size`, the program prints rejection rates of `kernel_stein_test` at level
.05, for stationary autoregressive draws that are exact, shifted by .3, or of variance 1.3.

    python benchmarks/measures.py [--quick] [--repeats N] [--test-size [--repetitions N]]
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from costs import in_a_process_of_its_own, peak_megabytes
from instances import normal

import steinkit as sk

Array = np.ndarray
Value = Callable[[], float]
DIM = 10
TARGET_RATIO, TARGET_MEMORY = 3.0, 500.0
PAUSE = 0.2  # seconds before each run, until the threads of the previous run are idle


def blocked_formula(draws: Array, scores: Array, rows: int = 500) -> float:
    """Compute the root of the V-statistic for IMQ(1, -1/2) in NumPy, by blocks of rows of the kernel matrix."""
    n, dim = draws.shape
    lengths, products = (draws**2).sum(axis=1), (draws * scores).sum(axis=1)
    total = 0.0
    for first in range(0, n, rows):
        x, s = draws[first : first + rows], scores[first : first + rows]
        u = np.maximum(lengths[first : first + rows, None] + lengths - 2.0 * (x @ draws.T), 0.0)
        slope = x @ scores.T + s @ draws.T - products[first : first + rows, None] - products
        inverse = 1.0 / (1.0 + u)
        phi = np.sqrt(inverse)
        total += (phi * (s @ scores.T + inverse * (dim - slope - 3.0 * u * inverse))).sum()
    return float(np.sqrt(total)) / n


def numpy_peer(draws: Array, scores: Array) -> Value:
    return lambda: blocked_formula(draws, scores)


def stein_thinning_peer(draws: Array, scores: Array) -> Value:
    thinning, stein = (
        importlib.import_module("stein_thinning.thinning"),
        importlib.import_module("stein_thinning.stein"),
    )
    integrand = thinning._make_stein_integrand(draws, scores, standardize=False)
    return lambda: float(stein.ksd(integrand, len(draws))[-1])


def goodpoints_peer(draws: Array, scores: Array) -> Value:
    jax, numbers = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    importlib.import_module("goodpoints")  # a missing peer must not change the settings of JAX
    jax.config.update("jax_enable_x64", True)
    kernels = importlib.import_module("goodpoints.jax.kernel.precond_stein")
    scalar, mmd = importlib.import_module("goodpoints.jax.kernel.scalar"), importlib.import_module("goodpoints.jax.mmd")
    kernel = kernels.PrecondSteinKernel(scalar.imq, np.eye(draws.shape[1]), 1.0)
    points = kernel.prepare_input(numbers.asarray(draws), numbers.asarray(scores))
    return lambda: float(np.sqrt(mmd.compute_mmd(kernel, points)))


def ksd_metric_peer(draws: Array, _: Array) -> Value:
    jax, numbers = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    importlib.import_module("ksd_metric")
    jax.config.update("jax_enable_x64", True)
    kernel, stein = importlib.import_module("ksd_metric.kernel"), importlib.import_module("ksd_metric.stein")
    target, utils = importlib.import_module("ksd_metric.target"), importlib.import_module("ksd_metric.utils")
    identity = numbers.eye(draws.shape[1])
    measure = stein.KernelSteinDiscrepancyJax(
        target=target.TargetDistributionJax(log_target_pdf=lambda x: -0.5 * (x**2).sum()),
        kernel=kernel.KernelJax(lambda x, y: utils.JaxKernelFunction.imq(x, y, identity)),
    )
    points = numbers.asarray(draws)
    return lambda: float(measure.kernel_stein_discrepancy(points))


PEERS: dict[str, tuple[Callable[[Array, Array], Value], int]] = {  # function, and largest n that memory allows
    "NumPy, blocked": (numpy_peer, 10_000),
    "stein-thinning": (stein_thinning_peer, 10_000),
    "goodpoints": (goodpoints_peer, 10_000),
    "ksd-metric": (ksd_metric_peer, 1000),
}


def ours(draws: Array, scores: Array, n_jobs: int) -> Value:
    return lambda: sk.kernel_stein_discrepancy(draws, scores=scores, n_jobs=n_jobs).value


def contenders(n: int) -> dict[str, Value]:
    """Return all implementations of the discrepancy of n draws, compiled."""
    draws, target = normal(n, DIM)
    scores = target.score(draws)
    found = {"ours, 1 thread": ours(draws, scores, 1), "ours, 2 threads": ours(draws, scores, 2)}
    for name, (make, largest) in PEERS.items():
        if n > largest:
            print(f"{n:7d} {name:18} skipped: more than {largest} draws do not fit in memory")
            continue
        try:
            found[name] = make(draws, scores)
        except ImportError as error:
            print(f"{n:7d} {name:18} skipped: {error}")
    for run in found.values():
        run()
    return found


def memory(n: int, n_jobs: int) -> float:
    """Return the peak resident memory of this process after a discrepancy, in megabytes."""
    draws, target = normal(n, DIM)
    ours(draws, target.score(draws), n_jobs)()
    return peak_megabytes()


def memory_table(sizes: list[int]) -> None:
    """Print the peak memory.

    This function must be called first, because a new process inherits the peak of its parent.
    """
    for n in sizes:
        peak = in_a_process_of_its_own(memory, n, 2)
        met = "met" if peak < TARGET_MEMORY else "MISSED"
        print(f"n = {n}, 2 threads: peak of resident memory {peak:.0f} MB (goal: below {TARGET_MEMORY:.0f}), {met}")


def cost_table(sizes: list[int], repeats: int) -> None:
    """Print the times of the kernel Stein discrepancy and of its peers."""
    print(f"\nKernel Stein discrepancy, d = {DIM}: wall and CPU seconds, and wall over ours; medians of {repeats} runs")
    print(f"{'n':>7} {'':18}{'wall s':>9} {'CPU s':>9} {'over 1 thread':>14} {'over 2 threads':>15} {'value':>16}")
    for n in sizes:
        found = contenders(n)
        wall: dict[str, list[float]] = {name: [] for name in found}
        cpu: dict[str, list[float]] = {name: [] for name in found}
        values: dict[str, float] = {}
        for _ in range(repeats):
            for name, run in found.items():
                time.sleep(PAUSE)
                started, worked = time.perf_counter(), time.process_time()
                values[name] = run()
                wall[name].append(time.perf_counter() - started)
                cpu[name].append(time.process_time() - worked)
        fastest = (np.inf, "")
        for name in found:
            one, two = (
                median(theirs / own for theirs, own in zip(wall[name], wall[mine], strict=True))
                for mine in ("ours, 1 thread", "ours, 2 threads")
            )
            print(
                f"{n:7d} {name:18}{median(wall[name]):9.4f} {median(cpu[name]):9.4f} {one:14.2f} {two:15.2f} "
                f"{values[name]:16.12f}",
                flush=True,
            )
            if not name.startswith("ours"):
                fastest = min(fastest, (max(one, two), name))
        met = "met" if fastest[0] >= TARGET_RATIO else "MISSED"
        print(f"{n:7d} fastest peer: {fastest[1]}, {fastest[0]:.2f} times ours (goal: {TARGET_RATIO:g}), {met}")


def faulty_samples(target: sk.Target, n: int) -> dict[str, Array]:
    """Return samples of n draws with a known defect.

    The modes of the target are at -4 and 4.
    """
    right = target.sample(n, rng=1)[:, 0]
    rng = np.random.default_rng(2)
    modes, noise = np.where(rng.random(n) < 0.7, 4.0, -4.0), rng.standard_normal(n)
    return {
        "independent draws": right,
        "all shifted by .3": right + 0.3,
        "modes 1.3 times as wide": right + 0.3 * (right - 4.0 * np.sign(right)),
        "modes 70 : 30": modes + noise,
        "a mode missed": 4.0 + noise,
        "every 10th draw shifted by 3": right + 3.0 * (np.arange(n) % 10 == 0),
    }


def sight_table(n: int) -> None:
    """Print the values and times of each measure for samples with a known defect."""
    target = sk.targets.GaussianMixture([-4.0, 4.0], sd=1.0)
    measures: dict[str, Callable[[Array], float]] = {
        "graph": lambda draws: sk.graph_stein_discrepancy(draws, target).value,
        "classical": lambda draws: sk.classical_stein_discrepancy(draws, target).value,
        "Wasserstein": lambda draws: sk.wasserstein_distance(draws, target).value,
        "kernel": lambda draws: sk.kernel_stein_discrepancy(draws, target).value,
        "test, p": lambda draws: sk.kernel_stein_test(draws, target).p,
    }
    samples = faulty_samples(target, n)
    print(f"\n{n} draws, target .5 N(-4, 1) + .5 N(4, 1): each measure relative to independent draws; p-values")
    print(f"{'':28}" + "".join(f"{name:>13}" for name in measures))
    for take in measures.values():
        take(samples["independent draws"])  # compilation
    values = {name: {fault: take(draws) for fault, draws in samples.items()} for name, take in measures.items()}
    for fault in samples:
        cells = (row[fault] / (1.0 if name == "test, p" else row["independent draws"]) for name, row in values.items())
        print(f"{fault:28}" + "".join(f"{cell:13.3f}" for cell in cells))
    worst = {name: (min if name == "test, p" else max)(row, key=row.__getitem__) for name, row in values.items()}
    print("worst: " + "; ".join(f"{name}: {fault}" for name, fault in worst.items()))
    seconds = []
    for take in measures.values():
        started = time.perf_counter()
        take(samples["all shifted by .3"])
        seconds.append(time.perf_counter() - started)
    print(f"{'seconds':28}" + "".join(f"{taken:13.4f}" for taken in seconds))
    print(
        "A Stein discrepancy hardly depends on the weights of distant modes, because the score does not. The\n"
        "Wasserstein distance does, but requires the cdf: otherwise, compare chains with dispersed initial states."
    )


def autoregressive(n: int, phi: float, rng: np.random.Generator) -> Array:
    """Return a stationary chain of N(0, 1) draws with autocorrelation phi^lag."""
    from scipy.signal import lfilter

    noise = rng.standard_normal(n) * np.sqrt(1.0 - phi**2)
    noise[0] /= np.sqrt(1.0 - phi**2)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise))


def size_row(phi: float, n: int, repetitions: int, n_bootstrap: int = 199) -> None:
    """Print the rejection rates for exact draws, and for draws with a shift or a scale error."""
    target = sk.targets.Normal([0.0])
    rejected, flips, times = np.zeros(3), [], []
    for repetition in range(repetitions):
        draws = autoregressive(n, phi, np.random.default_rng([repetition, n]))
        for k, tested in enumerate((draws, draws + 0.3, np.sqrt(1.3) * draws)):
            test = sk.kernel_stein_test(tested, target, n_bootstrap=n_bootstrap, rng=repetition)
            rejected[k] += test.p <= 0.05
            if k == 0:
                flips.append(test.flip_probability)
                times.append(test.autocorrelation_time)
    right, shifted, wide = rejected / repetitions
    print(
        f"{phi:5.1f} {n:6d} {right:7.3f} {shifted:9.3f} {wide:13.3f} {np.mean(flips):17.4f} {np.mean(times):6.2f}",
        flush=True,
    )


def size_table(sizes: list[int], repetitions: int) -> None:
    """Print the size and power of the test at level .05, with 199 replicates."""
    error = np.sqrt(0.05 * 0.95 / repetitions)
    print(f"\nRejections at level .05 in {repetitions} repetitions (standard error at .05: {error:.3f})")
    print(f"{'phi':>5} {'n':>6} {'right':>7} {'shift .3':>9} {'variance 1.3':>13} {'flip probability':>17} {'tau':>6}")
    for n in sizes:
        for phi in (0.0, 0.5, 0.9):
            size_row(phi, n, repetitions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, few runs, all tables")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs per implementation (default: 5)")
    parser.add_argument("--test-size", action="store_true", help="rejection rates of the goodness-of-fit test")
    parser.add_argument("--repetitions", type=int, default=1000, metavar="N", help="of --test-size (default: 1000)")
    settings = parser.parse_args()
    for name in ("repeats", "repetitions"):
        if getattr(settings, name) < 1:
            parser.error(f"--{name} must be at least 1; got {getattr(settings, name)}")
    if not settings.test_size:
        sizes = [200, 400] if settings.quick else [1000, 10_000]
        memory_table(sizes)
        cost_table(sizes, 1 if settings.quick else settings.repeats)
        sight_table(100 if settings.quick else 1000)
    if settings.test_size or settings.quick:
        size_table([50] if settings.quick else [100, 500, 2000], 5 if settings.quick else settings.repetitions)


if __name__ == "__main__":
    main()
