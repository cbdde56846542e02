"""Requests built from the samples, target and settings on the command line.

This module also writes the results.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steinkit import __version__
from steinkit.adapters.model import Model
from steinkit.cli.options import Options, flag_of
from steinkit.cli.terminal import is_device, on_terminal, require_places, say, warn
from steinkit.diagnosis.importance import with_log_q
from steinkit.discrepancy.reference import LongRun
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import read_sample
from steinkit.files.streams import as_json, write_bytes
from steinkit.measures import all_options, default_measure, find_measure, takers_of
from steinkit.measures.options import Measure
from steinkit.measures.scoring import LEVEL, Judging
from steinkit.result import Origin, Result
from steinkit.sample import Floats, Sample
from steinkit.saved_results import save_result
from steinkit.scored_sample import selected
from steinkit.target import Target
from steinkit.targets import make_target
from steinkit.targets.registry import load_attribute, load_target_or_model
from steinkit.text import alternatives, files_label

_REFERENCE_BY_DEFAULT = 5


@dataclass(frozen=True)
class Task:
    """Arguments for a measurement.

    Attributes
    ----------
    samples : dict of str to Sample
        Samples. If ``--columns`` is given, their columns have the names of the target's parameters.
    measures : tuple of Measure
    target : Target, optional
        Target, or None if the scores of the samples are used or if no scores are required.
    settings : dict
        Settings of the measures by name.
    repeats : int
        Number of independent reference samples.
    doubts : tuple of str
        Notes on renamed columns.
    run : LongRun, optional
        Exact run whose blocks serve as a reference.
    """

    samples: dict[str, Sample]
    measures: tuple[Measure, ...]
    target: Target | None
    settings: Mapping[str, Any]
    repeats: int
    doubts: tuple[str, ...]
    run: LongRun | None = None


class NamedTarget:
    """Target specified by options, and samples in the target's coordinates.

    Parameters
    ----------
    given : mapping
        Command-line options by name. The options are "target", "target_options" (``-p``), "no_check", "columns",
        "weights", "log_q", "group" and "file_format". All options except the first may be missing.
    """

    def __init__(self, given: Options) -> None:
        self.given = given
        self.name: str | None = given["target"]
        self.options: Mapping[str, str] = given.get("target_options", {})

    @property
    def is_user_code(self) -> bool:
        """True if the target is ``path.py:attribute``."""
        return self.name is not None and (":" in self.name or self.name.endswith(".py"))

    def read(self, *files: str) -> Sample:
        """Read a sample from its files.

        If a model is named, the sample is converted to the coordinates of the model.

        Raises
        ------
        UsageError, InputError
        """
        columns, log_q = self.given.get("columns"), self.given.get("log_q")
        if self._model is not None and columns is not None:
            raise UsageError(f"--columns cannot be used with the model {self.name}, which names its parameters")
        draws = read_sample(
            files,
            format=self.given.get("file_format"),
            columns=columns if columns is None or log_q is None else [*columns, log_q],
            group=self.given.get("group"),
            weights=self.given.get("weights"),
        )
        return self.in_coordinates(draws if log_q is None else with_log_q(draws, log_q), files_label(files))

    def in_coordinates(self, draws: Sample, file: str) -> Sample:
        """Convert draws to the coordinates of the model, if a model is named."""
        if self._model is None:
            return draws
        try:
            return self._model.sample(draws)
        except InputError as error:
            raise InputError(f"{files_label((file,))}: {error}") from None

    def target(self, dim: int) -> Target:
        """Return the target, with the given dimension if its own is not set."""
        own = self._own
        if own is None:
            assert self.name is not None
            return make_target(self.name, self.options, dim)
        return own if isinstance(own, Target) else own.target

    def of_sample(self, source: str, sample: Sample, *, needs_scores: bool) -> Target | None:
        """Return the target for a sample, or None if no target is required."""
        if self.name is not None:
            target = self.target(sample.dim) if self._model is None else self._model.target_of(sample)
            if self.given.get("no_check"):
                target.score_is_checked = True
            return target
        if self.options:
            raise UsageError("-p requires --target")
        if sample.scores is None and needs_scores:
            raise UsageError(
                f"{files_label((source,))} has no scores (columns score:NAME) and no --target was given; add a "
                "built-in target (see 'steinkit targets') or your own target as path.py:attribute"
            )
        return None

    @cached_property
    def _own(self) -> Target | Model | None:
        """Object from the user's file, or None for a built-in target."""
        if not self.is_user_code:
            return None
        if self.options:
            raise UsageError("-p requires a built-in target; set options of your own target in the Python file")
        assert self.name is not None
        return load_target_or_model(self.name)

    @property
    def _model(self) -> Model | None:
        return None if self._own is None or isinstance(self._own, Target) else self._own


class Request(NamedTarget):
    """Files, measures and options given to a command.

    Parameters
    ----------
    files : tuple of str
    given : mapping
        Command-line options by name.

    Raises
    ------
    UsageError, OutputError
        If a file is named twice, or the output cannot be written.
    """

    def __init__(self, files: tuple[str, ...], given: Options) -> None:
        super().__init__(given)
        require_files(files, given)
        self.files, self.measures = files, tuple(map(find_measure, dict.fromkeys(given["measures"])))

    def _measures_in(self, dim: int) -> tuple[Measure, ...]:
        """Return the measures, or raise UsageError for settings of other measures."""
        measures = self.measures or (find_measure(default_measure(dim, operator=self.given["operator"])),)
        for name, setting in all_options().items():
            given = setting.help and self.given.get(name) not in (None, (), setting.default)
            read = any(name in {**measure.options, **measure.refused} for measure in measures)
            if given and not read and setting.changes_value and name != "max_seconds":
                names, takers = ", ".join(measure.name for measure in measures), takers_of(name)
                raise UsageError(f"{flag_of(name)} requires --measure {alternatives(takers)}, got {names}")
        return measures

    @property
    def needs_scores(self) -> bool:
        """True if a measure requires scores or an option requests a verdict."""
        return bool(self._judgment or not self.measures or any(measure.needs != "draws" for measure in self.measures))

    @property
    def _judgment(self) -> list[str]:
        """Options that request a verdict."""
        usual = {"fail_if_biased": None, "fail_if_bias": None, "matters": None, "analyses": 1}
        return [f"--{name.replace('_', '-')}" for name in usual if self.given.get(name, usual[name]) != usual[name]]

    def against(self, *, judged: bool = False) -> str:
        """Return the name of the target or a description of the stored scores."""
        if self.name is None:
            return "the scores stored in the file" if judged or self.needs_scores else "itself"
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"target {self.name}" + (f" ({options})" if options else "")

    def origin(self, *, judged: bool = False) -> Origin:
        """Return the files, the target and the command that produced a result."""
        command = tuple(sys.argv[1:])
        return Origin(self.files, self.against(judged=judged), self.name, dict(self.options), command, __version__)

    def task(self, samples: Mapping[str, Sample], lead: str) -> Task:
        """Return the arguments for samples with the same parameters as ``lead``."""
        target = self.of_sample(lead, samples[lead], needs_scores=self.needs_scores)
        chosen = {name: selected(each, target) for name, each in samples.items()}
        sample = chosen[lead][0]
        measures = self._measures_in(sample.dim)
        repeats = self._repeats(target) if "reference" in self.given else 0
        settings, run = self._settings(sample), self._long_run(target, sample)
        named = {name: named_as(target, each, self.given["columns"]) for name, (each, _) in chosen.items()}
        doubts = [note for found in (chosen, named) for _, notes in found.values() for note in notes]
        under_names = {name: each for name, (each, _) in named.items()}
        return Task(under_names, measures, target, settings, repeats, tuple(dict.fromkeys(doubts)), run)

    @property
    def judging(self) -> Judging | None:
        """Settings of the verdict, or None if ``--no-verdict`` is given."""
        if not self.given["no_verdict"]:
            alpha = self.given.get("fail_if_biased")
            return Judging(LEVEL if alpha is None else alpha, self.given["matters"], self.given["analyses"])
        if self._judgment:
            raise UsageError(f"{self._judgment[0]} and --no-verdict are mutually exclusive")
        return None

    def _settings(self, sample: Sample) -> dict[str, Any]:
        """Return the settings of the measures, with bounds for the parameters."""
        found: dict[str, Any] = {name: self.given[name] for name in all_options() if name in self.given}
        found["progress"] = on_terminal()
        found["bounds"] = bounds_for(found["bounds"], sample)
        if found["operator"] is not None:
            from steinkit.discrepancy.operators import RiemannianLangevin

            found["operator"] = load_attribute(found["operator"], "operator", RiemannianLangevin)
        return found

    def _repeats(self, target: Target | None) -> int:
        """Return the number of independent reference samples."""
        asked: int | None = self.given["reference"]
        if self.given["reference_draws"] is not None:
            if asked:
                raise UsageError("--reference and --reference-draws are mutually exclusive")
            return 0
        truncated = self.given["bounds"] and target is not None and target.bounds is None
        possible = target is not None and target.can_sample and not truncated
        if asked and not possible:
            got = self.against() + (" with --bounds" if truncated else "")
            raise UsageError(f"--reference {asked}: expected a target with a sampler (sampler=), got {got}")
        if asked is None:
            return _REFERENCE_BY_DEFAULT if possible and not self.is_user_code else 0
        return asked

    def _long_run(self, target: Target | None, sample: Sample) -> LongRun | None:
        """Read the run given by ``--reference-draws``, with the sample's parameters."""
        file = self.given.get("reference_draws")
        if file is None:
            return None
        columns = self.given["columns"]
        draws = self.in_coordinates(read_sample(file, columns=columns, weights=self.given.get("weights")), file)
        if target is None and sample.scores is not None and draws.scores is None:
            raise InputError(f"{file} has no scores (columns score:NAME), unlike the sample; add scores or --target")
        return LongRun(named_as(target, draws, columns)[0], file).like(named_as(target, sample, columns)[0])


def require_files(files: Sequence[str], options: Options) -> None:
    """Raise UsageError if a file is given twice."""
    doubled = [file for file in files if files.count(file) > 1]
    if doubled:
        raise UsageError(f"expected different files, got {doubled[0]} twice")
    for file in files:
        require_places(file, options["output"], options.get("plot"))


def read_with_target(options: Options, *files: str) -> tuple[Sample, Target | None, Floats | None, tuple[str, ...]]:
    """Read a sample, its target (or None) and its bounds, with notes about names."""
    named = NamedTarget(options)
    sample = named.read(*files)
    target = named.of_sample(files_label(files), sample, needs_scores=True)
    sample, left_out = selected(sample, target)
    bounds = bounds_for(options["bounds"], sample)
    sample, renamed = named_as(target, sample, options["columns"])
    return sample, target, bounds, (*left_out, *renamed)


def named_as(target: Target | None, sample: Sample, columns: Any) -> tuple[Sample, tuple[str, ...]]:
    """Name the columns listed in ``--columns`` after the target's parameters.

    Where possible, the parameters of the target are selected by name.
    """
    sample = selected(sample, target)[0]
    known = None if target is None else target.names
    if columns is None or known is None or len(known) != sample.dim or sorted(known) == sorted(sample.names):
        return sample, ()
    given, wanted = ", ".join(sample.names), ", ".join(known)
    note = f"the columns {given} were read, in this order, as the target parameters {wanted}"
    return replace(sample, names=known), (note,)


def bounds_for(given: Sequence[tuple[str, float, float]], sample: Sample) -> Floats | None:
    """Return parameter bounds from a single pair, ordered pairs or named pairs."""
    if not given:
        return None
    names, pairs = [name for name, *_ in given], np.array([pair for _, *pair in given])
    if any(names):
        if not set(names) <= set(sample.names) or len(set(names)) < len(names):
            got = ", ".join(name or "no name" for name in names)
            raise UsageError(f"--bounds: expected {', '.join(sample.names)}, each once, got {got}")
        bounds = np.tile([-np.inf, np.inf], (sample.dim, 1))
        bounds[[sample.names.index(name) for name in names]] = pairs
        return bounds
    if len(pairs) not in (1, sample.dim):
        raise UsageError(f"--bounds: expected one pair, or one for each of {sample.dim} parameters, got {len(pairs)}")
    return np.broadcast_to(pairs, (sample.dim, 2)).copy()


def deliver(
    options: Options,
    document: dict[str, Any],
    text: Callable[[], str],
    notes: Iterable[str],
    result: Result | None = None,
) -> None:
    """Print a document or text, write the requested files, and print warnings.

    Parameters
    ----------
    options : mapping
        Options of the command. See `output_options`.
    document : dict
    text : callable
        Function that returns the text. The function is called only if the text is printed.
    notes : iterable of str
        Warnings. The warnings are printed last, even if a file cannot be written.
    result : Result, optional
        Result that is saved with the JSON file, for ``steinkit report``. The option ``--plot`` draws its figure.
    """
    json_text = as_json(document)
    printed = json_text if options["json_output"] else text()
    json_file = options["output"]
    deliveries: list[Callable[[], None]] = [lambda: say(printed)]
    if json_file and result is not None and not is_device(json_file):
        deliveries.append(lambda: save_result(result, json_file, json_text))
    elif json_file:
        deliveries.append(lambda: write_bytes(json_file, f"{json_text}\n".encode(), binary=True))
    if result is not None and options.get("plot"):
        deliveries.append(lambda: _save(result, options["plot"]))
    failures = []
    for make in deliveries:
        try:
            make()
        except OutputError as error:
            failures.append(str(error))
    for note in notes:
        warn(note)
    if failures:
        raise OutputError("; ".join(failures))


def _save(result: Result, path: str) -> None:
    """Write a figure in the format of the file name extension, or as PNG."""
    form = "png" if is_device(path) else Path(path).suffix.lower().removeprefix(".")
    stream = io.BytesIO()
    try:
        result.plot().savefig(stream, format=form, dpi=150)
    except (ValueError, OverflowError) as error:
        raise OutputError(f"{path}: the figure could not be drawn: {error}") from None
    write_bytes(path, stream.getvalue(), binary=True)
