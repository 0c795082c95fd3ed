"""Random mutations of the JSON content of a model file that leave it almost valid.

Most files that are mutated blindly are refused early; these mutations get further. The content is changed in place.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any

from bondgraph.interchange.formulas import ARITY, SLOPES
from bondgraph.interchange.records import RECORDS, fields_of, word_of
from campaigns.mutations import WORDS, homes

Content = dict[str, Any]

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 1000, 10**6, 2**31, 2**53, 2**63 - 1, 2**63, 10**15, 10**39, 0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, 1e-320,
    1e200, 1e-200, 1.0 + 1e-15, "inf", "-inf", "nan", "Infinity", "1", True, None,
)  # fmt: skip
NAMES = (
    *WORDS, "time", "mode", "ω", "größe", "m.p", "a b", "it's", 'say "q"', "a -> b:effort", "x'", "-x", "$is", "1", "effort",
    "initial", "nan", "None", "__class__", "\\alpha_{1}", "%s", "{0}", "a/b", "\u202e", "Ω" * 300,
)  # fmt: skip
PARTS: tuple[Any, ...] = (
    [],
    {},
    [[]],
    [1, 2],
    [None],
    {"shape": [2], "entries": [1.0, 2.0]},
    {"$is": "Model"},
    {"$map": [["a", 1]]},
)
"""Values of other types, inserted anywhere."""


def exchanged(whole: Content, rng: random.Random) -> None:
    """Replace a value with another of the same type, change a number, or delete a value."""
    table: dict[type, list[tuple[Any, Any]]] = {}
    for home, key in homes(whole):
        table.setdefault(type(home[key]), []).append((home, key))
    places = table[rng.choice(sorted(table, key=lambda kind: kind.__name__))]
    (home, key), (other, place) = rng.choice(places), rng.choice(places)
    value = home[key]
    if rng.random() < 0.5 and isinstance(value, (int, float)) and not isinstance(value, bool):
        home[key] = rng.choice((value + 1, value - 1, 0, -value, 10 * value, 1000, 10**6, 2**31, 10**15))
    elif rng.random() < 0.3:
        del home[key]
    else:
        home[key] = copy.deepcopy(other[place])


def in_a_formula(whole: Content, rng: random.Random) -> None:
    """Change a formula: use another operation; make a step read itself or a later step; omit, duplicate, swap or differentiate
    steps; use other shapes, constants and results."""
    formula = rng.choice(list(whole["formulas"].values()))
    steps, results = formula["steps"], formula["results"]
    count = sum(map(_size, formula["arguments"])) + len(steps)
    if not steps or rng.random() < 0.3:
        part = rng.choice([*formula["arguments"], *(result[0] for result in results), []])
        changes: tuple[Callable[[], Any], ...] = (
            lambda: part.reverse(),
            lambda: part.append(rng.choice((0, 1, 2, 3, 1000, 10**5))),
            lambda: part.pop() if part else None,
            lambda: formula["constants"].append(rng.choice(NUMBERS)),
            lambda: formula["constants"].__setitem__(slice(0, 1), [rng.choice(NUMBERS)]),
            lambda: formula["arguments"].reverse(),
            lambda: formula["arguments"].append([]),
            lambda: results.reverse(),
            lambda: results.append(rng.choice(results)),
            lambda: rng.choice(results)[1].reverse(),
            lambda: rng.choice(results).__setitem__(1, [rng.randrange(count + 1)]),
        )
        rng.choice(changes)()
        return
    place = rng.randrange(len(steps))
    step, other = steps[place], rng.randrange(len(steps))
    name = rng.choice([*(n for n, arity in ARITY.items() if arity == len(step) - 1), *ARITY, "exec", "", "constant", "input"])
    reads = count - len(steps) + rng.choice((place, place + 1, len(steps), -1, rng.randrange(-3, len(steps) + 2)))
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: step.__setitem__(0, name),
        lambda: step.__setitem__(rng.randrange(len(step)), reads),
        lambda: step.__setitem__(rng.randrange(len(step)), rng.choice(NUMBERS)),
        lambda: step.append(0),
        lambda: step.pop(),
        lambda: steps.pop(place),
        lambda: steps.insert(place, copy.deepcopy(steps[other])),
        lambda: steps.__setitem__(place, steps[other]),
        lambda: steps.__setitem__(place, [SLOPES, [rng.randrange(2)] * rng.choice((1, 2, 50)), [], [step], [reads]]),
        lambda: steps.extend(copy.deepcopy(steps) * rng.choice((1, 30))),
    )
    rng.choice(kinds)()


def in_an_operation(whole: Content, rng: random.Random) -> None:
    """Change an operation: use another formula or kind, no formula, or unknown strings and modes."""
    operation = rng.choice(whole["operations"])
    changes: tuple[Callable[[], Any], ...] = (
        lambda: operation.update(formula=rng.choice(list(whole["formulas"]))),
        lambda: operation.update({"formula": None, "why": rng.choice(NAMES)}),
        lambda: operation.update({"$is": rng.choice(("Op", "Constant", "Gate", "Choice", "Model"))}),
        lambda: operation.update(active=rng.choice(([], [0], [1], [0, 1], [5], [True], [2**31]))),
        lambda: operation.update({rng.choice(("name", "latex", "source", "note")): rng.choice(NAMES)}),
        lambda: operation.update(known=rng.choice(("identity", "negate", "exec"))),
        lambda: whole["operations"].reverse(),
    )
    rng.choice(changes)()


def in_a_record(whole: Content, rng: random.Random) -> None:
    """Change a record: use another kind or fields of another record, omit a field, or give a value another type."""
    records = [home[key] for home, key in homes(whole["model"]) if isinstance(home[key], dict) and home[key]]
    record, other = rng.choice(records), rng.choice(records)
    kind = RECORDS.get(record.get("$is", "")) or rng.choice(list(RECORDS.values()))
    key, values = rng.choice(list(record)), (*NUMBERS, *NAMES, *PARTS)
    changes: tuple[Callable[[], Any], ...] = (
        lambda: record.update({"$is": rng.choice(list(RECORDS))}),
        lambda: record.update(copy.deepcopy(other)),
        lambda: record.pop(key),
        lambda: record.update({key: rng.choice(values)}),
        lambda: record.update({rng.choice([word_of(kind, name) for name in fields_of(kind)]): rng.choice(values)}),
        lambda: record.update({key: [record[key]]}),
    )
    rng.choice(changes)()


def in_a_number(whole: Content, rng: random.Random) -> None:
    """Change a number, a count or an array: use extreme values, use another shape, or make the value depend on a mode."""
    model = whole["model"]
    places = [(home, key) for home, key in homes(model) if isinstance(home[key], (int, float)) or key in ("value", "initial")]
    home, key = rng.choice(places)
    entries = [rng.choice(NUMBERS[12:24]) for _ in range(rng.choice((0, 1, 2, 3, 4, 9)))]
    machines = list(model.get("automata", {})) or ["nothing"]
    changes: tuple[Callable[[], Any], ...] = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(NUMBERS),
        lambda: {"shape": [len(entries)], "entries": entries},
        lambda: {"shape": rng.choice(([1, 1], [0], [2, 2], [3, 3], [10**6], [1, -1], [])), "entries": entries},
        lambda: {"$is": "ByMode", "automaton": rng.choice(machines), "values": {"free": 1.0, "resting": 2.0}},
    )
    home[key] = rng.choice(changes)()


def renamed(whole: Content, rng: random.Random) -> None:
    """Rename an element, automaton or parameter wherever it appears, so that the file is still a model; or in one position
    only."""
    model = whole["model"]
    names = [*model["elements"], *model.get("automata", {})]
    names += [name for element in model["elements"].values() for name in element.get("parameters", {})]
    old, new = rng.choice(names), rng.choice((*NAMES, *names))
    text = json.dumps(whole)
    spelled, given = json.dumps(old)[1:-1], json.dumps(new)[1:-1].replace("\\", "\\\\")
    changed = re.sub(rf'(?<=["./ ]){re.escape(spelled)}(?=["./: ])', given, text, count=rng.choice((0, 0, 0, 1)))
    _replaced(whole, changed)


def in_the_header(whole: Content, rng: random.Random) -> None:
    key = rng.choice(("format", "version", "name", "starts", "left out", "model", "operations", "formulas", "more"))
    if rng.random() < 0.3:
        whole.pop(key, None)
    else:
        whole[key] = rng.choice((*NUMBERS, *NAMES, [], {}, ["sphere"], whole.get("name"), whole.get("format")))


def _size(shape: Any) -> int:
    found = 1
    for n in shape:
        found *= n if isinstance(n, int) else 1
    return found


def _replaced(whole: Content, text: str) -> None:
    try:
        found = json.loads(text)
    except ValueError:  # the new name made the text invalid
        return
    whole.clear()
    whole.update(found)


KINDS: tuple[Callable[[Content, random.Random], None], ...] = (
    exchanged, exchanged, exchanged, in_a_formula, in_a_formula, in_an_operation, in_a_record, in_a_record, in_a_number, renamed,
    in_the_header,
)  # fmt: skip
"""Mutations; those that find more faults appear more than once."""


def of_a_model(data: bytes, rng: random.Random) -> bytes:
    whole = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.choice(KINDS)
        before = copy.deepcopy(whole)
        try:
            kind(whole, rng)
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):  # the last mutation left nothing to change there
            whole = before
    return json.dumps(whole).encode()
