"""Records of sweeps, to be compared."""

_VARIES = ("seconds", "results")


def timeless(records, *, without=()):
    """Records without what differs from run to run, and without other entries named."""
    return [
        {name: value for name, value in record.items() if name not in (*_VARIES, *without)}
        | {
            "results": [
                {name: value for name, value in entry.items() if name != "seconds"} for entry in record["results"]
            ]
        }
        for record in records
    ]


def _left(entries, without):
    return {name: value for name, value in entries.items() if name not in without}


def whoever_sampled(records):
    """The same of records whose samplers differ in their code, as those that kill their process at times."""
    return timeless(records, without=("sampler", "cell"))
