"""What ``--target`` names: a built-in target, the user's own or a model of another package, or nothing.

A user's file is run once. Where it holds a model, draws are read by the names of its parameters and become a sample in
its unconstrained space.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from steinkit.adapters.model import Model
from steinkit.cli.options import key_values
from steinkit.describe.labels import files_label
from steinkit.errors import InputError, UsageError
from steinkit.files import read_sample
from steinkit.sample import Sample
from steinkit.target import Target
from steinkit.targets import make_target
from steinkit.targets.user_code import load_target_or_model

_CHECKED_DRAWS = 10


class NamedTarget:
    """The target that options name, and samples in its coordinates.

    Parameters
    ----------
    options : mapping
        "target", "options" (``-p``), "check", "columns", "group" and "file_format" of the command line; what a command
        does not have may be missing.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.name: str | None = options["target"]
        self._pairs = tuple(options.get("options", ()))
        self._check = bool(options.get("check", False))
        self._columns, self._format = options.get("columns"), options.get("file_format")
        self._group = options.get("group")

    @property
    def options(self) -> dict[str, str]:
        """Options of a built-in target, as given."""
        return key_values(self._pairs)

    @property
    def is_user_code(self) -> bool:
        """Whether the target is meant as ``path.py:attribute``; no built-in target has such a name."""
        return self.name is not None and (":" in self.name or self.name.endswith(".py"))

    def read(self, *files: str) -> Sample:
        """A sample of one file, or of several with its chains, in the coordinates of the model if one was named."""
        if isinstance(self._own, Model) and self._columns is not None:
            raise UsageError(f"{self.name} is a model, which says what its parameters are; leave out --columns")
        draws = read_sample(files, format=self._format, columns=self._columns, group=self._group)
        return self.in_coordinates(draws, files_label(files))

    def in_coordinates(self, draws: Sample, file: str) -> Sample:
        """Draws in the coordinates of the model; as they are where none was named."""
        if not isinstance(self._own, Model):
            return draws
        try:
            return self._own.sample(draws)
        except InputError as error:
            raise InputError(f"{files_label((file,))}: {error}") from None

    def target_for(self, sample: Sample) -> tuple[Target, tuple[str, ...]]:
        """The target for a sample that was read, and what its user should know of it.

        A target of the user's own that has a log density has its score checked against it at a few draws.
        """
        assert self.name is not None
        own = self._own
        if own is None:
            return make_target(self.name, self.options, sample.dim), ()
        target = own.target_of(sample) if isinstance(own, Model) else own
        return target, _checked(target, sample) if self._check and target.can_be_checked else ()

    def target(self, dim: int) -> Target:
        """The target where there is no sample, in a dimension that is used where it fixes none itself."""
        own = self._own
        if own is None:
            assert self.name is not None
            return make_target(self.name, self.options, dim)
        return own.target if isinstance(own, Model) else own

    def of_sample(self, source: str, sample: Sample, *, needs_scores: bool) -> tuple[Target | None, tuple[str, ...]]:
        """The target for a sample, with doubts about it; None where stored scores serve, or none are needed."""
        if self.name is not None:
            return self.target_for(sample)
        if self._pairs:
            raise UsageError("-p options need the --target that they belong to")
        if sample.scores is None and needs_scores:
            where = files_label((source,))
            raise UsageError(
                f"{where} stores no scores (columns score:NAME) and no --target was given; name a built-in target "
                "('steinkit targets' lists them), or your own as path.py:attribute"
            )
        return None, ()

    @cached_property
    def _own(self) -> Target | Model | None:
        """What the user's file holds; None for a built-in target."""
        if not self.is_user_code:
            return None
        if self.options:
            raise UsageError("-p options are for built-in targets; set them inside your Python file instead")
        assert self.name is not None
        return load_target_or_model(self.name)


def _checked(target: Target, sample: Sample) -> tuple[str, ...]:
    """Compare the score with the log density at draws that carry weight."""
    carried = np.flatnonzero(sample.probabilities > 0.0)
    rows = np.unique(np.linspace(0, len(carried) - 1, _CHECKED_DRAWS).round().astype(int))
    points = sample.points[carried[rows]]
    try:
        target.score(points)
    except InputError:
        return ()  # scoring fails likewise, and names the draw by its place in the sample, not among these few
    if target.check(points).compared:
        return ()
    return ("finite differences were too inaccurate to check the target's score against its log density",)
