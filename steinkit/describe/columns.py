"""What the columns of tables say, for pages that have room to explain them."""

from __future__ import annotations

from steinkit.describe.layout import Table

_MEANINGS = {
    "verdict": "Whether any bias was found at the level of the test (1 % unless asked otherwise).",
    "p": "How probable evidence as strong as this is if the draws are from the target.",
    "p matters": "The same if no moment of the draws is off by more than the size that matters.",
    "ESS": "Effective sample size, that of the worst coordinate: as many independent draws are as precise. It is blind "
    "to bias.",
    "what is wrong": "The fault with the strongest evidence.",
    "rank": "1 is best. Samples with = share a rank; those with - cannot be ranked by this measure.",
    "draws": "How many draws were measured.",
    "cost": "What these draws cost to make, in the unit of the file's cost column.",
    "value": "The measure of these draws; of independent samples, in their own row, the median.",
    "between": "The bracket that holds the value for certain where the measure has one, rounded outwards.",
    "proved between": "A bracket that holds the value for certain, every rounding bounded; of independent samples "
    "their range.",
    "found between": "A bracket that is partly extrapolated or assumed; for independent samples their range.",
    "certified between": "A bracket that a certificate proves, rounded outwards.",
    "independent samples": "The range of what independent samples from the target have that are worth as many draws.",
    "worst coordinate": "The coordinate that carries most, or has the least effective draws, and its value.",
    "discrepancy": "What the coordinate carries of the total.",
    "times expected": "Its ratio to the median of independent samples from the target: about 1 where nothing is wrong.",
    "should be": "Mean under the target, as estimated; ? where that cannot be said.",
    "off (sd)": "The draws' mean less that of the target, in the target's standard deviations, with its margin.",
    "sd off": "How much larger the draws' standard deviation is than the target's, with its margin.",
    "mean": "Mean of the draws.",
    "sd": "Standard deviation of the draws.",
    "MCSE": "Monte Carlo standard error of the mean: what chance makes of it in chains that mix like these.",
    "bulk ESS": "Independent draws that are worth as much for the centre of the distribution.",
    "tail ESS": "Independent draws that are worth as much for its 5 % and 95 % quantiles.",
    "R-hat": "Near 1 where chains agree; undefined for a single chain.",
    "standard errors": "How far the mean is from 0, in standard errors; chance alone seldom makes more than 3 or 4.",
    "autocorrelation time": "Draws of the chains that are worth one independent draw, for this moment.",
    "median": "Median over the seeds; a failed cell counts as the worst there can be.",
    "95% interval": "Bootstrap interval of that median over the seeds.",
    "scored": "Seeds whose chains were scored.",
    "failed": "Seeds whose chains failed.",
    "cost a draw": "Mean cost of a draw, in the sampler's unit.",
    "seeds": "Those that failed for this reason.",
}
_OTHERWISE = {
    ("measure", "value"): "The measure of these draws.",
    ("moment", "mean"): "Mean of the moment over the draws, which is 0 under the target, in standard units.",
    ("setting", "verdict"): "Whether the seeds tell the setting from the best one.",
}
_INTERVAL = " interval of the median"


def meanings(table: Table) -> tuple[tuple[str, str], ...]:
    """The columns that do not explain themselves, each with what it says; a coordinate's column is headed "[name]"."""
    lead = table.columns[0]
    found = [(name, _OTHERWISE.get((lead, name), _MEANINGS.get(name, ""))) for name in table.columns[1:]]
    found += [(name, "Bootstrap interval over the samples.") for name in table.columns if name.endswith(_INTERVAL)]
    if any(_is_coordinate(name) for name in table.columns):
        found.append(("[…]", "The same of that coordinate alone."))
    return tuple((name, said) for name, said in found if said)


def _is_coordinate(column: str) -> bool:
    return column.startswith("[") and column.endswith("]")
