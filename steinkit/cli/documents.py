"""The JSON document of ``steinkit score``, which is a contract: its keys change only with the changelog."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steinkit.measures.registry import recorded_settings
from steinkit.measures.scoring import Scores
from steinkit.sample import Sample

if TYPE_CHECKING:
    from steinkit.cli.request import Request


def as_document(
    scores: Scores, sample: Sample, settings: Mapping[str, Any], notes: Sequence[str], request: Request
) -> dict[str, Any]:
    """The document that ``--json`` prints.

    ``reference`` is that of the first measure that has one; ``references`` holds those of all measures by name.

    Parameters
    ----------
    scores : Scores
    sample : Sample
        What was scored, under the names that it had then.
    settings : mapping
        Of the measures.
    notes : sequence of str
    request : Request
    """
    return {
        **replace(scores, warnings=tuple(notes)).to_dict(),
        **asked(request),
        **_measured_again(sample, settings, request),
    }


def asked(request: Request) -> dict[str, Any]:
    """What every document says of its making: files and target as given, and the words of the command.

    The target is None where scores stored in the files take its place, or none is needed.
    """
    target = request.named_target
    named = None if target.name is None else {"name": target.name, "options": target.options}
    return {"files": list(request.files), "target": named, "command": command_line()}


def _measured_again(sample: Sample, settings: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """What whoever reads the files again needs to take the measures that were taken, and to know that it did."""
    options = request.options
    return {
        "reading": {
            "format": options["file_format"],
            "columns": options["columns"] and list(options["columns"]),
            "group": options["group"],
            "names": list(sample.names),
            "sha256": sample.sha256,
        },
        "settings": recorded_settings({**settings, "operator": options["operator"]}),
    }


def command_line() -> list[str]:
    """The words of the command as given, after the program's name: how to make the document again."""
    return sys.argv[1:]
