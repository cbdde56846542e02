"""What ``steinkit sample`` says of a run: its JSON document, whose keys change only with the changelog, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steinkit import __version__
from steinkit.describe.numbers import count
from steinkit.printable import printable
from steinkit.sample import Floats
from steinkit.samplers.draws import Draws


def run_document(
    sampler: str,
    target: str,
    target_options: Mapping[str, str],
    options: Mapping[str, Any],
    draws: Draws,
    seconds: float,
    file: str,
) -> dict[str, Any]:
    """The document that ``--json`` prints. Lists hold a number a chain."""
    return {
        "sampler": sampler,
        "target": target,
        "target_options": dict(target_options),
        "settings": {name: value for name, value in draws.settings.items() if name != "sampler"}
        | {"start": options.get("start")},
        "seeds": list(draws.seeds),
        "draws": draws.present.sum(axis=1).tolist(),
        "names": list(draws.to_sample().names),
        "acceptance": _per_chain(draws.acceptance),
        "mean_batch_size": _per_chain(draws.mean_batch_size),
        "cost": _per_chain(_last(draws, draws.cost)),
        "diagnostics": {name: _per_chain(_summed_up(draws, name)) for name in draws.diagnostics},
        "seconds": seconds,
        "file": None if file == "-" else file,
        "version": __version__,
    }


def run_text(document: Mapping[str, Any]) -> str:
    """The chains and their length, what was accepted and what it cost, and where they went."""
    counts = document["draws"]
    length = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    facts = [
        _fact("acceptance", document["acceptance"]),
        _fact("mean batch", document["mean_batch_size"]),
        _fact("cost", document["cost"], " evaluations a chain") if any(document["cost"]) else "",
        *(_fact(name.replace("_", " "), values) for name, values in document["diagnostics"].items()),
        f"{document['seconds']:.2f} s",
    ]
    return (
        f"{document['sampler']} on {printable(document['target'])}: {count(len(counts), 'chain')} of {length} draws\n"
        f"{'; '.join(filter(None, facts))}\nwritten to {printable(document['file'] or 'standard output')}"
    )


def _per_chain(values: Floats | None) -> list[float | None] | None:
    """Numbers for JSON, which knows no NaN."""
    return None if values is None else [float(value) if np.isfinite(value) else None for value in values]


def _last(draws: Draws, values: Any) -> Floats:
    """Value at the last draw of each chain; NaN for a chain without draws."""
    counts = draws.present.sum(axis=1)
    return np.array([row[count - 1] if count else np.nan for row, count in zip(values, counts, strict=True)])


def _summed_up(draws: Draws, name: str) -> Floats:
    """A diagnostic of each chain: a cost, which is cumulative, at its last draw; others as the mean of those known."""
    values = draws.diagnostics[name]
    if name.endswith("_cost"):
        return _last(draws, values)
    known = draws.present & np.isfinite(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))


def _fact(what: str, values: Sequence[float | None] | None, unit: str = "") -> str:
    """A mean over the chains, with the range where it is visible."""
    known = [value for value in values or () if value is not None]
    if not known:
        return ""
    mean, lowest, highest = map(_shown, (sum(known) / len(known), min(known), max(known)))
    return f"{what} {mean}" + (f" ({lowest} to {highest})" if lowest != highest else "") + unit


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
