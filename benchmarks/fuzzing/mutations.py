"""Mutations of bytes, text and JSON values, from a seeded generator."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np

# Cells that some readers accept as numbers, or as the end of a table.
CELLS = (
    *("", " ", '"', '""', '"0.5"', '"0.5"1', '1"2"', '"1', "'1'", "nan", "NaN", "inf", "-inf", "Infinity", "1e999"),
    *("-1e999", "1e-999", "5e-324", "1_000", "0x1p3", "0x10", "1e", "e1", "1e+", ".", "-", "+", "--1", "+-1", "1.2.3"),
    *(
        "\uff11",
        "\u0661",
        "\ufeff1",
        "1\u00a0",
        "\u2028",
        "1\x0b2",
        "\x0c",
        "\x1c",
        "\x00",
        "1\x00",
        "\t1",
        "1 2",
        "1;2",
    ),
    *(
        "\x00",
        "1,2",
        "#1",
        "1#2",
        "1/2",
        "1j",
        "(1)",
        "True",
        "None",
        "null",
        "NA",
        "-0",
        "00",
        "007",
        "1d5",
        "1f",
        "9" * 400,
    ),
    *("0." + "0" * 400 + "1", "1" * 5000, "-3", "1e3", "0", "-1", "99999999999999999999999", "\r", "\n", "\r\n"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, -0.0, 0.5, 1e-320, 1e308, -1e308, 2**53 + 1),
    *(-(2**63), 10**22, 10**400, "", "x"),
    *("graph", "nan", "\x1b[31m", "../../etc/passwd", "\u202e", "9" * 5000, [], {}, [[]], [None], [1, 2], {"": None}),
    *([0.0] * 3, {"a": {"b": []}}, "__class__", [1e308, -1e308]),
)


def damage_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, set bytes, remove, repeat, move or overwrite spans, or truncate."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not found:
            break
        start = int(rng.integers(len(found)))
        stop = min(len(found), start + int(rng.integers(1, 2 + min(64, len(found)))))
        match int(rng.integers(8)):
            case 0 | 1:
                found[start] ^= 1 << int(rng.integers(8))
            case 2:
                found[start] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x2C, 0x0A]))
            case 3:
                del found[start:stop]
            case 4:
                found[start:start] = found[start:stop]
            case 5:
                found[start:stop] = rng.bytes(stop - start)
            case 6:
                found[start:stop] = (b"\xff" if rng.random() < 0.5 else b"\0") * (stop - start)
            case _:
                if rng.random() < 0.3:
                    del found[start:]
    return bytes(found)


def damage_table(text: str, rng: np.random.Generator) -> str:
    """Damage the cells, lines, line ends or columns of a text table."""
    lines = text.split("\n")
    for _ in range(int(rng.integers(1, 4))):
        k = int(rng.integers(len(lines)))
        cells = lines[k].split(",")
        c = int(rng.integers(len(cells)))
        match int(rng.integers(9)):
            case 0 | 1 | 2 | 3:
                cells[c] = str(rng.choice(CELLS))
                lines[k] = ",".join(cells)
            case 4:
                cells.insert(c, cells[int(rng.integers(len(cells)))])
                lines[k] = ",".join(cells)
            case 5:
                del cells[c]
                lines[k] = ",".join(cells)
            case 6:
                lines.insert(k, str(rng.choice(["", " ", "#", "# comment", lines[int(rng.integers(len(lines)))]])))
            case 7:
                del lines[k]
                lines = lines or [""]
            case _:
                place = int(rng.integers(len(lines[k]) + 1))
                lines[k] = lines[k][:place] + str(rng.choice(CELLS)) + lines[k][place:]
    return str(rng.choice(["\n", "\n", "\n", "\r\n", "\r"])).join(lines)


def damage_words(text: str, rng: np.random.Generator) -> str:
    """Replace some numbers and words of a text."""
    found = list(re.finditer(r"[\w.+-]+", text))
    for match in sorted(rng.choice(len(found), size=min(len(found), int(rng.integers(1, 4))), replace=False))[::-1]:
        span = found[int(match)]
        new = str(rng.choice(CELLS)) if rng.random() < 0.7 else found[int(rng.integers(len(found)))].group()
        text = text[: span.start()] + new + text[span.end() :]
    return text


def damage_value(value: Any, rng: np.random.Generator) -> Any:
    """Remove, rename or add keys of a JSON value, or replace nested values."""
    found = copy.deepcopy(value)
    for _ in range(int(rng.integers(1, 4))):
        holder = found
        while True:  # descend to a list or an object
            inner = [each for each in _members(holder) if isinstance(each, list | dict) and each]
            if not inner or rng.random() < 0.25:
                break
            holder = inner[int(rng.integers(len(inner)))]
        if isinstance(holder, list | dict) and holder:
            _damage_member(holder, rng)
    return found


def damage_json(text: str, rng: np.random.Generator) -> str:
    """Damage the values of a JSON text, and sometimes the text."""
    found = json.dumps(damage_value(json.loads(text), rng), ensure_ascii=bool(rng.random() < 0.5))
    match int(rng.integers(10)):
        case 0:
            return damage_words(found, rng)
        case 1:  # a duplicate key
            keys = re.findall(r'"\w+": ', found)
            key = keys[int(rng.integers(len(keys)))] if keys else '"a": '
            return found.replace(key, f"{key}0, {key}", 1)
        case 2:
            return found.replace("0.", str(rng.choice(["NaN", "Infinity", "1e999", "[" * 100_000, "-"])), 1)
        case _:
            return found


def _members(holder: Any) -> list[Any]:
    return list(holder.values()) if isinstance(holder, dict) else list(holder) if isinstance(holder, list) else []


def _damage_member(holder: Any, rng: np.random.Generator) -> None:
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = keys[int(rng.integers(len(keys)))]
    new = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    match int(rng.integers(8)):
        case 0 | 1 | 2:
            holder[key] = new
        case 3:
            del holder[key]
        case 4:
            holder[key] = [holder[key]]
        case 5:
            other = keys[int(rng.integers(len(keys)))]
            holder[key], holder[other] = holder[other], holder[key]
        case 6:
            if isinstance(holder, dict):
                holder[str(rng.choice(["x", "value", key + "_", "", "\x1b"]))] = holder.pop(key)
            else:
                holder.append(holder[key])
        case _:
            if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = (
                    holder[key] * float(rng.choice([-1.0, 0.0, 1e-300, 1e300, 0.5])) if abs(holder[key]) < 1e9 else 0
                )
            else:
                holder[key] = new
