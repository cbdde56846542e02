"""What a command that measures samples was asked: held to make sense before a file is read, then made ready to measure.

The way of every such command: the request, the samples it names, the target and the settings for them, the measures,
what is said of them, where that goes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit import __version__
from steinkit.cli.options import flag_of
from steinkit.cli.terminal import command_line, is_device, on_terminal, require_places, say, say_next, warn
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import read_sample
from steinkit.files.streams import as_json, write_bytes
from steinkit.measures import all_options, default_measure, find_measure, takers_of
from steinkit.measures.options import UNIT_WORDS, Measure
from steinkit.measures.scoring import LEVEL, Judging
from steinkit.result import Origin, Result
from steinkit.sample import Floats, Sample
from steinkit.saved_results import save_result
from steinkit.target import Target
from steinkit.targets import make_target
from steinkit.targets.registry import load_attribute, load_target_or_model
from steinkit.text import files_label, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from steinkit.adapters.model import Model
    from steinkit.discrepancy.reference import LongRun

_REFERENCE_BY_DEFAULT = 5


@dataclass(frozen=True)
class Task:
    """What is measured, against what, and how.

    Attributes
    ----------
    samples : dict of str to Sample
        Under the target's names, where ``--columns`` states which column is which.
    measures : tuple of Measure
    target : Target, optional
        None where the samples' own scores are to be used, or none is needed.
    settings : dict
        Of the measures, by their names.
    repeats : int
        How many independent samples to measure as well.
    doubts : tuple of str
        Remarks on the names.
    run : LongRun, optional
        Whose blocks to measure instead.
    """

    samples: dict[str, Sample]
    measures: tuple[Measure, ...]
    target: Target | None
    settings: Mapping[str, Any]
    repeats: int
    doubts: tuple[str, ...]
    run: LongRun | None = None


class NamedTarget:
    """The target that options name, and samples in its coordinates.

    Parameters
    ----------
    given : mapping
        Options of the command line by their names: "target", "options" (``-p``), "no_check", "columns", "group" and
        "file_format" among them; what a command does not have may be missing.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.name: str | None = given["target"]

    @property
    def options(self) -> dict[str, str]:
        """Options of a built-in target, as given."""
        return key_values(self.given.get("options", ()))

    @property
    def is_user_code(self) -> bool:
        """Whether the target is meant as ``path.py:attribute``; no built-in target has such a name."""
        return self.name is not None and (":" in self.name or self.name.endswith(".py"))

    def read(self, *files: str) -> Sample:
        """A sample of one file, or of several with its chains, in the coordinates of the model if one was named."""
        columns = self.given.get("columns")
        if self._model is not None and columns is not None:
            raise UsageError(f"{self.name} is a model, which says what its parameters are; leave out --columns")
        draws = read_sample(files, format=self.given.get("file_format"), columns=columns, group=self.given.get("group"))
        return self.in_coordinates(draws, files_label(files))

    def in_coordinates(self, draws: Sample, file: str) -> Sample:
        """Draws in the coordinates of the model; as they are where none was named."""
        if self._model is None:
            return draws
        try:
            return self._model.sample(draws)
        except InputError as error:
            raise InputError(f"{files_label((file,))}: {error}") from None

    def target(self, dim: int) -> Target:
        """The target where there is no sample, in a dimension that is used where it fixes none itself."""
        own = self._own
        if own is None:
            assert self.name is not None
            return make_target(self.name, self.options, dim)
        return own if isinstance(own, Target) else own.target

    def of_sample(self, source: str, sample: Sample, *, needs_scores: bool) -> Target | None:
        """The target for a sample; None where stored scores serve, or none are needed."""
        if self.name is not None:
            target = self.target(sample.dim) if self._model is None else self._model.target_of(sample)
            if self.given.get("no_check"):
                target.score_is_checked = True
            return target
        if self.given.get("options"):
            raise UsageError("-p options need the --target that they belong to")
        if sample.scores is None and needs_scores:
            where = files_label((source,))
            raise UsageError(
                f"{where} stores no scores (columns score:NAME) and no --target was given; name a built-in target "
                "('steinkit targets' lists them), or your own as path.py:attribute"
            )
        return None

    @cached_property
    def _own(self) -> Target | Model | None:
        """What the user's file holds; None for a built-in target."""
        if not self.is_user_code:
            return None
        if self.options:
            raise UsageError("-p options are for built-in targets; set them inside your Python file instead")
        assert self.name is not None
        return load_target_or_model(self.name)

    @property
    def _model(self) -> Model | None:
        return None if self._own is None or isinstance(self._own, Target) else self._own


class Request(NamedTarget):
    """The files that a user named, the measures asked for, each once, and all options by their names.

    Where no measure was asked for, the samples' dimension decides: see `task`.

    Parameters
    ----------
    files : tuple of str
    given : mapping
        Options of the command line by their names.
    why_once : str
        Why no file may be named twice.

    Raises
    ------
    UsageError, OutputError
        If the request cannot be honoured.
    """

    def __init__(self, files: tuple[str, ...], given: Mapping[str, Any], why_once: str = "") -> None:
        super().__init__(given)
        doubled = [file for file in files if files.count(file) > 1]
        if doubled:
            raise UsageError(f"{doubled[0]} is named twice; {why_once}")
        for file in files:
            require_places(file, given["output"], given["plot"])
        self.files, self.measures = files, tuple(map(find_measure, dict.fromkeys(given["measures"])))

    def _measures_in(self, dim: int) -> tuple[Measure, ...]:
        """The measures asked for, or where none was the one for samples of this dimension.

        Raises
        ------
        UsageError
            If there is an option that none of them reads; of measures asked for, one of a single sample.
        """
        measures = self.measures or (find_measure(default_measure(dim, operator=self.given["operator"])),)
        for name, option in all_options().items():
            # another value is asked for, and not only to save time
            decides = not self.measures and option.changes_value and name != "max_seconds"
            asked = option.help and self.given.get(name, option.default) != option.default
            read = any(name in measure.options for measure in measures)
            if asked and not read and (decides or option.of_one_sample):
                by_default = "" if self.measures else f", but in {dim} dimensions the default measure is"
                raise UsageError(
                    f"{flag_of(name)} is an option of {listed(takers_of(name))}{by_default or ', not of'} "
                    f"{listed([measure.name for measure in measures])}; add --measure {takers_of(name)[0]}, or leave "
                    "it out"
                )
        return measures

    @property
    def needs_scores(self) -> bool:
        """Whether a measure looks at more than the draws, or a verdict is asked for and not merely welcome."""
        asked = any(self.given.get(name) is not None for name in ("fail_if_biased", "fail_if_bias", "matters", "looks"))
        return asked or not self.measures or any(measure.needs != "draws" for measure in self.measures)

    def against(self, *, judged: bool = False) -> str:
        """What the samples are held against, as the user wrote it; scores where a sample could be judged by them."""
        if self.name is None:
            return "the scores stored in the file" if judged or self.needs_scores else "itself"
        options = ", ".join(self.given["options"])
        return f"target {self.name}" + (f" ({options})" if options else "")

    def origin(self, *, judged: bool = False) -> Origin:
        """What a result holds of its making: files and target as given, and the words of the command."""
        command = tuple(command_line())
        return Origin(self.files, self.against(judged=judged), self.name, self.options, command, __version__)

    def task(self, samples: Mapping[str, Sample], lead: str) -> Task:
        """What is to be done with samples like the one that leads, by whose coordinates target and settings go."""
        sample = samples[lead]
        measures = self._measures_in(sample.dim)
        target = self.of_sample(lead, sample, needs_scores=self.needs_scores)
        repeats = self._repeats(target) if "reference" in self.given else 0
        settings, run = self._settings(sample), self._long_run(target, sample)
        named = {name: named_as(target, each, self.given["columns"]) for name, each in samples.items()}
        renamed = dict.fromkeys(note for _, notes in named.values() for note in notes)
        under_names = {name: each for name, (each, _) in named.items()}
        return Task(under_names, measures, target, settings, repeats, tuple(renamed), run)

    @property
    def judging(self) -> Judging | None:
        """How samples are to be judged; None if they are not."""
        alpha, matters, looks = self.given.get("fail_if_biased"), self.given["matters"], self.given["looks"]
        if not self.given["no_verdict"]:
            return Judging(LEVEL if alpha is None else alpha, matters, looks or 1)
        off = self.given.get("fail_if_bias")
        asked = {"--fail-if-biased": alpha, "--fail-if-bias": off, "--matters": matters, "--looks": looks}
        for flag, value in asked.items():
            if value is not None:
                raise UsageError(f"{flag} asks for the verdict, and --no-verdict for none; drop one of the two")
        return None

    def _settings(self, sample: Sample) -> dict[str, Any]:
        """The settings that options stand for; bounds by name are those of the sample's coordinates."""
        found: dict[str, Any] = {"progress": on_terminal()}
        for name, option in all_options().items():
            if name not in self.given:
                continue
            given = self.given[name]
            if name == "bounds":
                found[name] = bounds_for(given, sample)
            elif name == "units":
                found[name] = units_for(given)
            elif name == "operator":
                if given is not None:
                    from steinkit.discrepancy.operators import RiemannianLangevin

                    given = load_attribute(given, "operator", RiemannianLangevin)
                found[name] = given
            else:
                found |= {name: given, **option.implies.get(given, {})}
        return found

    def _repeats(self, target: Target | None) -> int:
        """How many independent samples: those asked for, or some where that costs the user no thought."""
        asked: int | None = self.given["reference"]
        if self.given["reference_draws"] is not None:
            if asked:
                raise UsageError(
                    f"--reference {asked} draws samples to compare with, and --reference-draws brings them; drop one "
                    "of the two"
                )
            return 0
        obstacle = self._obstacle(target)
        if asked is None:
            return 0 if obstacle or self.is_user_code else _REFERENCE_BY_DEFAULT
        if asked and obstacle:
            raise UsageError(f"--reference {asked}: {obstacle}")
        return asked

    def _long_run(self, target: Target | None, sample: Sample) -> LongRun | None:
        """The run whose blocks the sample is compared with, of its coordinates, under its names or the target's."""
        file = self.given.get("reference_draws")
        if file is None:
            return None
        from steinkit.discrepancy.reference import LongRun

        run, named = (
            LongRun(self.in_coordinates(read_sample(file), file), file),
            named_as(target, sample, self.given["columns"])[0],
        )
        if target is None and sample.scores is not None and run.draws.scores is None:
            raise InputError(f"{file} stores no scores (columns score:NAME), as the sample does; add them, or --target")
        if set(named.names) <= set(run.draws.names):
            return run.like(named)
        run = run.like(sample)
        return replace(run, draws=named_as(target, run.draws, self.given["columns"])[0])

    def _obstacle(self, target: Target | None) -> str:
        """Why independent draws from the target cannot be had; empty if they can."""
        if target is None:
            return "stored scores cannot be drawn from; name the --target, or leave out --reference"
        if not target.can_sample:
            return f"{self.name} cannot be drawn from; pass sampler= to steinkit.Target, or leave out --reference"
        if self.given["bounds"] and target.bounds is None:
            return "a target cut off by --bounds cannot be drawn from; leave out one of the two"
        return ""


def read_with_target(
    options: Mapping[str, Any], *files: str
) -> tuple[Sample, Target | None, Floats | None, tuple[str, ...]]:
    """The sample in some files, its target or None where it stores scores, bounds, and what to say of them.

    Of a command that needs scores and takes ``--bounds``; the sample bears its target's names.
    """
    named = NamedTarget(options)
    sample = named.read(*files)
    target = named.of_sample(files_label(files), sample, needs_scores=True)
    bounds = bounds_for(options["bounds"], sample)
    sample, renamed = named_as(target, sample, options["columns"])
    return sample, target, bounds, renamed


def named_as(target: Target | None, sample: Sample, columns: Any) -> tuple[Sample, tuple[str, ...]]:
    """The sample under the target's names, where ``--columns`` states which column is which, and what to say of it."""
    known = None if target is None else target.names
    if columns is None or known is None or len(known) != sample.dim or sorted(known) == sorted(sample.names):
        return sample, ()
    given, wanted = ", ".join(sample.names), ", ".join(known)
    note = f"the columns {given} were taken, in this order, for the target's coordinates {wanted}"
    return replace(sample, names=known), (note,)


def bounds_for(texts: Sequence[str], sample: Sample) -> Floats | None:
    """Read ``--bounds``: LOWER,UPPER once for all coordinates or once for each in order, or NAME=LOWER,UPPER."""
    if not texts:
        return None
    named = [text for text in texts if "=" in text]
    if named and len(named) < len(texts):
        raise UsageError("--bounds: write either NAME=LOWER,UPPER for all that are bounded, or LOWER,UPPER throughout")
    if named:
        bounds = np.tile([-np.inf, np.inf], (sample.dim, 1))
        for text in named:
            name, _, pair = text.rpartition("=")
            if name not in sample.names:
                raise UsageError(f"--bounds: no coordinate named {name!r}; the sample has {', '.join(sample.names)}")
            if np.isfinite(bounds[sample.names.index(name)]).any():
                raise UsageError(f"--bounds {name} is given twice")
            bounds[sample.names.index(name)] = _pair(pair)
        return bounds
    pairs = np.array([_pair(text) for text in texts])
    if len(pairs) not in (1, sample.dim):
        raise UsageError(f"--bounds: {len(pairs)} pairs for {sample.dim} coordinates; give one, or one for each")
    return np.broadcast_to(pairs, (sample.dim, 2)).copy()


def units_for(text: str | None) -> Any:
    """Read ``--units``: a word, or a JSON file with a scale or with units that ``--json`` printed."""
    from steinkit.measures.options import read_units

    return text if text is None or text in UNIT_WORDS else read_units(text)


def _pair(text: str) -> tuple[float, float]:
    try:
        lower, upper = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--bounds takes LOWER,UPPER such as 0,1 or 0,inf; received {text!r}") from None
    if not lower < upper:
        raise UsageError(f"--bounds: the lower bound must lie below the upper one; received {text!r}")
    return lower, upper


def key_values(pairs: Sequence[str]) -> dict[str, str]:
    """Read the ``key=value`` pairs of ``-p``."""
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key.strip() and equals):
            raise UsageError(f"-p takes key=value; received {pair!r}")
        if key.strip() in values:
            raise UsageError(f"-p {key.strip()} is given twice")
        values[key.strip()] = value.strip()
    return values


def deliver(
    options: Mapping[str, Any],
    document: dict[str, Any],
    text: Callable[[], str],
    notes: Iterable[str],
    draw: Callable[[], Figure] | None = None,
    result: Result | None = None,
) -> None:
    """Print the document or the text, write the files that were asked for, and warn.

    Parameters
    ----------
    options : mapping
        Those of `output_options`.
    document : dict
    text : callable
        Makes the text where it is wanted.
    notes : iterable of str
        Warnings for standard error, which come last and whatever fails.
    draw : callable, optional
        Makes the picture, of a command that has ``--plot``.
    result : Result, optional
        What goes beside the JSON file, for a page.
    """
    json_text = as_json(document)
    printed = json_text if options["json_output"] else text()
    json_file = options["output"]
    deliveries: list[Callable[[], None]] = [lambda: say(printed)]
    if json_file and result is not None and not is_device(json_file):
        deliveries.append(lambda: save_result(result, json_file, json_text))
    elif json_file:
        deliveries.append(lambda: write_bytes(json_file, f"{json_text}\n".encode(), binary=True))
    if draw is not None and options["plot"]:
        deliveries.append(lambda: _save(draw, options["plot"]))
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


def say_next_of_result(files: Sequence[str], options: Mapping[str, Any], name: str, *, has_picture: bool) -> None:
    """Say what to do with a result: a page of its JSON, else its picture, else its JSON.

    Parameters
    ----------
    files : sequence of str
        What was read; standard input cannot be read again.
    options : mapping
        Of the command: "output", "plot" and "json_output".
    name : str
        What files of it are called.
    has_picture : bool
    """
    if options["output"]:
        words, purpose = ["report", options["output"], "-o", "report.html"], "a page of it"
    elif "-" in files:
        return
    elif has_picture and not options["plot"]:
        words, purpose = [*command_line(), "--plot", f"{name}.png"], "the picture"
    else:
        words, purpose = [*command_line(), "-o", f"{name}.json"], "keep it, for a page of steinkit report"
    say_next(words, purpose, json_output=options["json_output"])


def _save(draw: Callable[[], Figure], path: str) -> None:
    """Draw a figure and write it in the format of the file's ending, in one step; a device or a pipe receives a PNG."""
    form = "png" if is_device(path) else Path(path).suffix.lower().removeprefix(".")
    stream = io.BytesIO()
    try:
        draw().savefig(stream, format=form, dpi=150)
    except (ValueError, OverflowError) as error:
        raise OutputError(f"{path}: the picture could not be drawn: {error}; leave out --plot") from None
    write_bytes(path, stream.getvalue(), binary=True)
