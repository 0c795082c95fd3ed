"""Random mutations of the bytes of a JSON file; the results are nearly the same, nearly JSON, or neither."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

EXTREMES = (
    "0", "-0.0", "1", "-1", "0.5", "1e308", "-1e308", "1e-308", "1e-320", "5e-324", "1e400", "-1e400", "1e-400", "NaN",
    "Infinity", "-Infinity", "1e16", "1e-16", "1e200", "1e-200", "1e150", "123456789012345678901234567890", "9" * 400,
    "9" * 5000, "1.0e+0", "00", "+1", ".5", "0x10", "1_000", "true", "false", "null", '""', '"heavy"', "[]", "{}", "[1]",
    "[1, 2, 3]",
)  # fmt: skip
WORDS = (
    "", "a" * 100_000, "\u0000", "\ud800", "\U0001f600", "../../etc", "é", "\n", "type", "_x", "comment", "sphere", "plane",
    "free",
)  # fmt: skip
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|true|false|null|[{}\[\],:]')
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def mutated(seed: bytes, rng: random.Random) -> bytes:
    data = seed
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choices((of_bytes, of_tokens, of_structure, of_numbers), (2, 3, 4, 4))[0](data, rng)
    return data


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, delete or insert bytes, truncate a file, or change its encoding."""
    at, end = (sorted(rng.randrange(len(data) + 1) for _ in range(2))) if data else (0, 0)
    text = data.decode("utf-8", "replace")
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
        lambda: data[:at] + data[at + 1 :],
        lambda: data[:at] + bytes(rng.randrange(256) for _ in range(5)) + data[at:],
        lambda: data[:at],
        lambda: data[at:],
        lambda: data[:at] + data[end:],
        lambda: data + data[at:end],
        lambda: b"\xef\xbb\xbf" + data,
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-32"),
        lambda: data[:at] + "é".encode("latin-1") + data[at:],
        lambda: data[:at] + b"\x00" + data[at:],
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: b"",
        lambda: data[:at] + b" " * 200_000 + data[at:],
    )
    return rng.choice(kinds)()


def of_tokens(data: bytes, rng: random.Random) -> bytes:
    """Delete, duplicate, swap, replace or nest words, numbers and brackets."""
    text = data.decode("utf-8", "replace")
    places = [found.span() for found in TOKEN.finditer(text)]
    if not places:
        return data
    (a, b), (c, d) = sorted(rng.choice(places) for _ in range(2))
    deep = rng.choice((100, 3000, 100_000))
    kinds: tuple[Callable[[], str], ...] = (
        lambda: text[:a] + text[b:],
        lambda: text[:b] + text[a:b] + text[b:],
        lambda: text[:b] + "," + text[a:b] + text[b:],
        lambda: text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text,
        lambda: text[:a] + rng.choice(EXTREMES) + text[b:],
        lambda: text[:a] + json.dumps(rng.choice(WORDS), ensure_ascii=rng.random() < 0.5) + text[b:],
        lambda: text[:a] + "[" * deep + text[a:b] + "]" * deep + text[b:],
        lambda: text[:a] + '{"a":' * deep + text[a:b] + "}" * deep + text[b:],
        lambda: text[:a] + "[" * deep + text[b:],
        lambda: text[:a] + "/* so */" + text[a:],
    )
    return rng.choice(kinds)().encode("utf-8", "surrogatepass")


def of_numbers(data: bytes, rng: random.Random) -> bytes:
    """Replace or scale one number."""
    text = data.decode("utf-8", "replace")
    places = [found.span() for found in NUMBER.finditer(text)]
    if not places:
        return data
    a, b = rng.choice(places)
    if rng.random() < 0.5:
        return (text[:a] + rng.choice(EXTREMES[:24]) + text[b:]).encode()
    factor = rng.choice((-1.0, 2.0, 0.5, 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-300, 300), 1.0 + 1e-9))
    return (text[:a] + repr(float(text[a:b]) * factor) + text[b:]).encode()


def of_structure(data: bytes, rng: random.Random) -> bytes:
    """Delete, duplicate, rename or swap keys and values, or change their types."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return of_bytes(data, rng)
    places = homes(whole)
    if not places:
        return of_tokens(data, rng)
    home, key = rng.choice(places)
    kind = rng.randrange(8)
    if kind == 0:
        del home[key]
    elif kind == 1:
        home[key] = _value(rng, 3)
    elif kind == 2 and isinstance(home, dict):
        home[rng.choice((key[:-1], key.upper(), key + "s", *WORDS))] = home.pop(key)
    elif kind == 3 and isinstance(home, dict):
        home[rng.choice(WORDS) + str(rng.randrange(3))] = _value(rng, 2)
    elif kind == 4:
        other, place = rng.choice(places)
        home[key], other[place] = other[place], home[key]
    elif kind == 5 and isinstance(home[key], list):
        home[key] = (home[key] * rng.randrange(4))[: rng.randrange(8)]
    elif kind == 6 and isinstance(home, dict):
        return _with_double(whole, key, rng)
    else:
        home[key] = [home[key]]
    try:
        return json.dumps(whole, indent=rng.choice((None, 1))).encode()
    except (ValueError, RecursionError):  # a part now contains itself
        return data


def homes(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key or index) of every value inside a JSON value."""
    found: list[tuple[Any, Any]] = []
    rest = [value]
    while rest:
        here = rest.pop()
        inside = list(here.items()) if isinstance(here, dict) else list(enumerate(here)) if isinstance(here, list) else []
        found += [(here, key) for key, _ in inside]
        rest += [part for _, part in inside]
    return found


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind < 3:
        return rng.choice((0, -1, 1e308, -1e-320, 10**400, float("nan"), float("inf"), 0.0, -0.0, rng.gauss(0.0, 1.0), 10**30))
    if kind < 6:
        return rng.choice((None, True, False, *WORDS))
    inner = [_value(rng, depth - 1) for _ in range(rng.randrange(5))]
    return inner if kind == 6 else {rng.choice(WORDS) + str(k): value for k, value in enumerate(inner)}


def _with_double(whole: Any, key: str, rng: random.Random) -> bytes:
    text = json.dumps(whole)
    return text.replace(f'"{key}":', f'"{key}": {rng.choice(EXTREMES)}, "{key}":', 1).encode("utf-8", "surrogatepass")
