"""Mutated files that people write: each is refused with a code, or is a graph; nothing hangs, and no traceback.

`python -m campaigns.written_files --count 10000 --seed 1` of short files, netlists and SBML.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping

from screwbond.models.netlist import parse_netlist
from screwbond.models.sbml import parse_sbml

from bondgraph import ScrewbondError
from bondgraph.interchange import parse_graph
from campaigns.model_files import limited
from tests.interchange.short.twins import TWINS
from tests.models.netlist.circuits import CIRCUITS
from tests.models.sbml.networks import NETWORKS

WORDS: Mapping[str, str] = {
    "short": "q ** ( [ { : -> 9999 1e308 1e-320 .inf - k**q**q __import__ lambda *x &x null {} [] ' \" # R C Block nan % é /0",
    "netlist": "{ } ' ( = + * . x 1e999 meg .subckt .ends k1 {1/0} ; é -1 0 {r} params: uic pulse( pwl( sin( 1e-300 .ic",
    "sbml": '< > & " 0 -1 nan INF 1e400 <apply> </ci> <times/> kf ES <!ENTITY </model> <cn> <piecewise> <power/> <!-- ]]>',
}
"""Words that are inserted, by form."""
TEXTS: Mapping[str, Callable[[], list[str]]] = {
    "short": lambda: [text for text, _ in TWINS.values()],
    "netlist": lambda: [text for text, _, _ in CIRCUITS.values()],
    "sbml": lambda: [network.text() for network in NETWORKS.values()],
}
"""Files that are mutated."""
READ: Mapping[str, Callable[[str], object]] = {
    "short": lambda text: parse_graph(text).freeze(),
    "netlist": lambda text: parse_netlist(text).freeze(),
    "sbml": lambda text: parse_sbml(text).graph.freeze(),
}
"""Readers, and the checks of the graph."""


def mutant(text: str, words: str, rng: random.Random) -> str:
    """One to three mutations of a text: cut off, a word more, some letters less, two lines or two words exchanged."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        kind = rng.choices(("end", "word", "gap", "lines", "tokens"), (2, 4, 3, 1, 2))[0]
        if kind == "end":
            text = text[:at]
        elif kind == "word":
            text = text[:at] + rng.choice(["\n", " ", "\t", "\x00", *words.split()]) + text[at:]
        elif kind == "gap":
            text = text[:at] + text[at + rng.randint(1, 12) :]
        else:
            parts = text.split("\n") if kind == "lines" else re.split(r"(\W)", text)
            a, b = rng.randrange(len(parts)), rng.randrange(len(parts))
            parts[a], parts[b] = parts[b], parts[a]
            text = ("\n" if kind == "lines" else "").join(parts)
    return text


def outcome(form: str, text: str) -> tuple[str, str]:
    """Return what becomes of a file: "graph", a code, or "wrong" with what happened."""
    try:
        with warnings.catch_warnings(), limited():
            warnings.simplefilter("error")
            READ[form](text)
    except ScrewbondError as error:
        codes = re.findall(r"^\s*([EG]\d{3}) ", str(error), flags=re.MULTILINE)
        return (codes[0], "") if codes else ("wrong", f"no code: {error}")
    except BaseException:
        return "wrong", traceback.format_exc(limit=-6)
    return "graph", ""


def campaign(form: str, count: int, seed: int) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Outcomes of `count` mutated files of a form, and those that went wrong."""
    texts, outcomes, wrong = TEXTS[form](), Counter[str](), []
    for number in range(count):
        rng = random.Random(f"{form} {seed} {number}")
        kind, what = outcome(form, mutant(texts[number % len(texts)], WORDS[form], rng))
        outcomes[kind] += 1
        if kind == "wrong":
            wrong.append((number, what))
    return outcomes, wrong


def main() -> int:
    """Run it; 1 where something went wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="files of each form (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default %(default)d)")
    parser.add_argument("--form", choices=list(READ), help="one form alone")
    arguments, _ = parser.parse_known_args()
    failed = 0
    for form in READ if arguments.form is None else (arguments.form,):
        outcomes, wrong = campaign(form, arguments.count, arguments.seed)
        print(form, *(f"{number:7d}  {kind}" for kind, number in outcomes.most_common()), sep="\n")
        print(*(f"{number}: {what}" for number, what in wrong[:5]), sep="\n")
        failed += len(wrong)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
