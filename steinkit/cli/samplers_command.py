"""``steinkit samplers``: the samplers and their options."""

from __future__ import annotations

from steinkit import __version__
from steinkit.cli.help_screens import OUTPUT, command, option
from steinkit.cli.outputs import say, say_next
from steinkit.cli.sample_options import as_flag, options_text
from steinkit.describe.writing import filled, one_line
from steinkit.files.streams import as_json
from steinkit.samplers.registry import Sampler, acceptance_test_names, find_sampler, sampler_names

_TRIED = ["sample", "rwmh", "--target", "normal", "--proposal-scale", "2", "--draws", "500", "-o", "draws.csv"]


@command()
@option(OUTPUT, "--json", "json_output", is_flag=True, help="Print JSON instead of words.")
def samplers(json_output: bool) -> None:
    """List the samplers, with the options that each takes."""
    found = [find_sampler(name) for name in sampler_names()]
    say(_as_json(found) if json_output else _as_text(found))
    say_next(_TRIED, "run one", json_output=json_output)


def _as_text(found: list[Sampler]) -> str:
    lines = []
    for sampler in found:
        options = options_text(sampler.options())
        lines += [sampler.name, one_line(sampler.summary, "    "), filled(options, "    ")]
    closing = (
        "Options in brackets are optional; chains need --draws, --budget, or both. 'steinkit sample --help' says what "
        f"each option means. --test is one of {', '.join(acceptance_test_names())}, whose options then take the place "
        "of --epsilon."
    )
    return "\n".join([*lines, "", filled(closing)])


def _as_json(found: list[Sampler]) -> str:
    return as_json(
        {
            "samplers": [
                {
                    "name": sampler.name,
                    "summary": sampler.summary,
                    "options": [
                        {"name": as_flag(option.name), "required": option.required, "default": option.default}
                        for option in sampler.options().values()
                    ],
                }
                for sampler in found
            ],
            "version": __version__,
        }
    )
