"""Mutated model files: each must be refused with a code, or load as a model whose run is bit-identical after saving.

There must be no traceback, hang or excessive memory: `python -m campaigns.model_files --count 10000 --seed 1`.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import re
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator

from bondgraph import Model, Result, ScrewbondError, compile_model
from bondgraph.interchange import dump_model, parse_model
from campaigns.model_mutations import of_a_model
from campaigns.mutations import mutated
from campaigns.processes import Progress, each, limit_addresses
from campaigns.saved import unequal
from campaigns.small_models import SMALL

LONGEST = 60
"""CPU time (s) after which reading, compiling and running a file counts as a hang."""
MEMORY = 3 << 30
"""Address space, bytes, that a trial may take in addition to what its process has."""
STEPS = 30


@functools.cache
def seed_text(name: str) -> str:
    return dump_model(SMALL[name]())


def mutant(name: str, seed: int, number: int) -> bytes:
    """Return the mutated file with this number, which does not depend on earlier numbers: its bytes or its content are
    mutated."""
    rng = random.Random(f"{name} {seed} {number}")
    data = seed_text(name).encode()
    return mutated(data, rng) if rng.random() < 0.3 else of_a_model(data, rng)


def trial(job: tuple[str, int, int]) -> tuple[tuple[str, int, int], str, str]:
    """Read, compile and run a mutated file; return (job, "run" | "the same" | a code | "wrong", details)."""
    data = mutant(*job)
    with limited():
        return job, *outcome(data, job[0])


def differences(model: Model) -> list[str]:
    """Return the differences between the run of a model and the run of its saved file, each completed or refused."""
    text = dump_model(model)
    again = parse_model(text)
    found = [] if dump_model(again) == text else ["the text"]
    first, second = (_run(each) for each in (model, again))
    if isinstance(first, Result) and isinstance(second, Result):
        return found + unequal(first, second)
    return found + ([] if str(first) == str(second) else [f"{first} and {second}"])


def _run(model: Model) -> Result | ScrewbondError:
    compiled = compile_model(model, backend="numpy", progress=False)
    try:
        return compiled.simulate(0.02, max_steps=STEPS, progress=False)
    except ScrewbondError as error:
        return error


def outcome(data: bytes, name: str) -> tuple[str, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                return "E351", ""
            model = parse_model(text)
            if text == seed_text(name):
                return "the same", ""
            if different := differences(model):
                return "wrong", f"not the same when it is saved again: {', '.join(different[:8])}"
    except ScrewbondError as error:
        codes = re.findall(r"^\s*([EG]\d{3}) ", str(error), flags=re.MULTILINE)
        return (codes[0], "") if codes else ("wrong", f"no code: {error}")
    except TimeoutError:
        return "wrong", "it hangs\n" + traceback.format_exc(limit=-6)
    except BaseException:
        return "wrong", traceback.format_exc(limit=-6)
    return "run", ""


class limited:
    """Context manager that raises `TimeoutError` after `LONGEST` s of CPU time, and limits the memory of its block."""

    def __enter__(self) -> None:
        self.memory = resource.getrlimit(resource.RLIMIT_AS)
        limit_addresses(MEMORY)
        self.handler = signal.signal(signal.SIGVTALRM, _late)
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, self.handler)
        resource.setrlimit(resource.RLIMIT_AS, self.memory)


def _late(*_: object) -> None:
    raise TimeoutError


def campaign(
    count: int, seed: int, *, first: int = 0, processes: int = 0, progress: bool = False
) -> tuple[Counter[str], list[tuple[tuple[str, int, int], str]]]:
    names = list(SMALL)
    jobs = [(names[number % len(names)], seed, number) for number in range(first, first + count)]
    outcomes, wrong, watched = Counter[str](), [], Progress(count, "files", shown=progress)
    for job, kind, what in each(trial, jobs, processes):
        outcomes[kind] += 1
        if kind == "wrong":
            wrong.append((job, what))
        watched.add(f"{job}: {what}" if kind == "wrong" else "")
    return outcomes, wrong


def lines(outcomes: Counter[str]) -> Iterator[str]:
    for kind, number in outcomes.most_common():
        yield f"{number:7d}  {kind}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="files (default %(default)d)")
    parser.add_argument("--first", type=int, default=0, help="number of the first file (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default %(default)d)")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="default %(default)d")
    given, _ = parser.parse_known_args()
    outcomes, wrong = campaign(given.count, given.seed, first=given.first, processes=given.processes, progress=True)
    print("\n".join(lines(outcomes)))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
