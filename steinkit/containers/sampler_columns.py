"""Columns that samplers and their interfaces put beside the parameters, and what they are taken for.

posterior, cmdstanr and tidybayes number the draws in ``.chain``, ``.iteration`` and ``.draw``, CmdStanPy in
``chain__``, ``iter__`` and ``draw__``. Stan's own names end in ``__``, which no parameter's may. R's ``write.csv`` puts
row names in front, in a column without a name, which pandas calls ``Unnamed: 0``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steinkit.errors import InputError, ReadingWarning, listed, warn_user

ROW = "row names"
_LABELS = {
    "chain": (".chain", "chain__"),
    "draw": (".iteration", "draw__", "iter__", ".draw"),
}  # the first that is there
_STAN = (
    *("lp__", "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__", "energy__"),
    *("chain__", "iter__", "draw__", "lp_approx__", "log_p__", "log_g__", "path__"),
)
_POSTERIOR = (".chain", ".iteration", ".draw")
_ROW_NAMES = ("", "Unnamed: 0")
_WEIGHTS = {
    "weights": 'rename it "weight"',
    ".log_weight": 'write exp(.log_weight - max(.log_weight)) in its place, in a column "weight"',
}


def sampler_columns(header: Sequence[str], source: str, asked: Sequence[str] | None) -> dict[str, str]:
    """Columns of a table that are no coordinates, with what each is taken for: "" for what is left out.

    Parameters
    ----------
    header : sequence of str
    source : str
        Name of the file, for messages.
    asked : sequence of str, optional
        Coordinates that the user named: they are coordinates whatever their names.

    Raises
    ------
    InputError
        If the table has several rows a draw, or a column that may be the draws' weights, and the user named no
        coordinates.
    """
    if asked is None:
        _require_plain(header, source)
    free = [name for name in header if name not in (asked or ())]
    left_out = [name for name in free if name in _POSTERIOR]
    if any(name in _STAN for name in free):
        left_out += [name for name in free if name.endswith("__")]
    found = dict.fromkeys(left_out, "")
    for label, names in _LABELS.items():
        first = next((name for name in names if name in found), None)
        if first is not None and label not in header:
            found[first] = label
    if header and header[0] in _ROW_NAMES and header[0] in free:
        found[header[0]] = ROW
    return found


def tell_taken(taken: Mapping[str, str]) -> None:
    """Warn of what columns were taken for; the text names no file, so that of several it is said once."""
    if not taken:
        return
    called = {name: f'"{name}"' if name else "the first, unnamed," for name in taken}
    labels = [f"{called[name]} as {meaning}" for name, meaning in taken.items() if meaning]
    left_out = [name for name, meaning in taken.items() if not meaning]
    said = [", ".join(labels)] if labels else []
    said += [f"{listed(left_out)} left out"] if left_out else []
    warn_user(
        f"columns that samplers write beside the parameters are no coordinates: {'; '.join(said)}. If one is, name all "
        "coordinates with columns= (--columns)",
        ReadingWarning,
    )


def _require_plain(header: Sequence[str], source: str) -> None:
    if {".variable", ".value"} <= set(header):
        raise InputError(
            f'{source} has a row for every draw of every parameter, in columns ".variable" and ".value"; a row a '
            "draw is wanted: tidybayes::spread_draws or tidyr::pivot_wider"
        )
    for name, remedy in _WEIGHTS.items():
        if name in header and "weight" not in header:
            raise InputError(
                f'{source}: does column "{name}" hold the weights of the draws? If so, {remedy}; if not, name the '
                "coordinates with columns= (--columns)"
            )
