"""Compare random models of ideal elements with independent programs: `python -m campaigns.modes --count 500 --seed 0`.

Networks of diodes, switches, R, L, C and sources are compared with loop analysis with complementarity; rows, trees and drives of
masses with dry friction, with Moreau's time stepping; linkages of redundant joints with friction, stops and locks, with models of
one coordinate. A refusal is right if the independent program finds no solution. `--store FILE` keeps each verdict as a line of
JSON, from which an interrupted campaign continues; `--shrink` looks for the smallest case of each cause.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from campaigns.ideal.drawing import Case, smaller
from campaigns.ideal.verdicts import FAMILIES, KINDS, Verdict, verdict_on
from campaigns.processes import Progress

LONGEST_WAIT = 1800.0
"""Wall time (s) after which a case that takes no CPU time counts as a hang."""
SEEDS = 6


@dataclass(frozen=True)
class Trial:
    family: str
    seed: int
    verdict: Verdict
    case: str

    def line(self) -> str:
        return json.dumps({"family": self.family, "seed": self.seed, **asdict(self.verdict), "case": self.case})


def read(line: str) -> Trial:
    record = json.loads(line)
    family, seed, case = (record.pop(name) for name in ("family", "seed", "case"))
    return Trial(family, seed, Verdict(**record), case)


def drawn(family: str, seed: int, largest: int) -> Case:
    return FAMILIES[family](seed, largest) if family == "masses" else FAMILIES[family](seed)


def verdict_in_process(case: Case) -> Verdict:
    """Run and check a case in a separate process, which is terminated after too much CPU time."""
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(there, case))
    process.start()
    there.close()
    if not here.poll(LONGEST_WAIT):
        process.kill()
        process.join()
        return Verdict("slow", "hangs")
    try:
        verdict: Verdict = here.recv()
    except EOFError:
        process.join()
        late = process.exitcode in (-getattr(signal, "SIGXCPU", 0), -getattr(signal, "SIGKILL", 0))
        return Verdict("slow", "ended") if late else Verdict("crashed", f"exit code {process.exitcode}")
    process.join()
    return verdict


def _report(there: Any, case: Case) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored
    there.send(verdict_on(case, limited=True))
    there.close()


def campaign(families: Iterable[str], seeds: range, largest: int = 8, store: Path | None = None) -> Iterator[Trial]:
    """Check the cases of all seeds, except those in the store. Only a quarter as many linkages are checked, because they take
    longest."""
    known = {(trial.family, trial.seed): trial for trial in stored(store)}
    for family in families:
        chosen = seeds[: max(1, len(seeds) // 4)] if family == "linkages" else seeds
        for seed in chosen:
            if (family, seed) not in known:
                case = drawn(family, seed, largest)
                trial = Trial(family, seed, verdict_in_process(case), str(case))
                if store is not None:
                    with store.open("a", encoding="utf-8") as lines:
                        lines.write(trial.line() + "\n")
                known[family, seed] = trial
            yield known[family, seed]


def stored(store: Path | None) -> list[Trial]:
    """Read a store, without an incomplete last line."""
    if store is None or not store.exists():
        return []
    lines = store.read_text(encoding="utf-8").splitlines(keepends=True)
    return [read(line) for line in lines if line.endswith("\n")]


def shrunk(case: Case, verdict: Verdict, tries: int = 60) -> Case:
    """Leave out parts as long as the verdict and its cause stay the same, with at most `tries` trials."""
    shows = True
    while shows:
        shows = False
        for less in smaller(case):
            tries -= 1
            if tries < 0:
                return case
            seen = verdict_in_process(less)
            if (seen.kind, seen.cause) == (verdict.kind, verdict.cause):
                case, shows = less, True
                break
    return case


def table(trials: list[Trial]) -> Iterator[str]:
    yield f"{'':10}" + "".join(f"{kind:>16}" for kind in KINDS)
    for family in dict.fromkeys(trial.family for trial in trials):
        counts = [sum(t.family == family and t.verdict.kind == kind for t in trials) for kind in KINDS]
        yield f"{family:10}" + "".join(f"{count:16d}" for count in counts)
    for (family, kind, cause), seeds in causes(trials).items():
        shown = ", ".join(map(str, seeds[:SEEDS])) + (" ..." if len(seeds) > SEEDS else "")
        yield f"{len(seeds):6d} {family}, {kind}: {cause} (seeds {shown})"


def causes(trials: list[Trial]) -> dict[tuple[str, str, str], list[int]]:
    found: dict[tuple[str, str, str], list[int]] = {}
    for trial in trials:
        if trial.verdict.kind != "right":
            found.setdefault((trial.family, trial.verdict.kind, trial.verdict.cause), []).append(trial.seed)
    return dict(sorted(found.items(), key=lambda item: (item[0][:2], -len(item[1]))))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="cases per family, a quarter for linkages (default %(default)d)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case (default %(default)d)")
    parser.add_argument("--family", choices=list(FAMILIES), action="append", help="default: all")
    parser.add_argument("--largest", type=int, default=8, help="maximum number of masses (default %(default)d)")
    parser.add_argument("--store", type=Path, help="file of JSON lines to which verdicts are appended")
    parser.add_argument("--shrink", action="store_true", help="look for the smallest case of each cause")
    given, _ = parser.parse_known_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    families, seeds = given.family or list(FAMILIES), range(given.seed, given.seed + given.count)
    total = sum(max(1, given.count // 4) if family == "linkages" else given.count for family in families)
    trials, watched = [], Progress(total, "cases")
    with contextlib.suppress(KeyboardInterrupt):
        for trial in campaign(families, seeds, given.largest, given.store):
            trials.append(trial)
            verdict = trial.verdict
            watched.add(f"{trial.family} {trial.seed}: {verdict.kind}, {verdict.cause}" if verdict.failed else "")
    print("\n" + "\n".join(table(trials)))
    verdicts = {(trial.family, trial.seed): trial.verdict for trial in trials}
    for (family, kind, cause), seeds_of_it in causes(trials).items() if given.shrink else ():
        verdict = verdicts[family, seeds_of_it[0]]
        if verdict.failed:
            less = shrunk(drawn(family, seeds_of_it[0], given.largest), verdict)
            print(f"{family} {seeds_of_it[0]}, {kind}, {cause}:\n  {less}", flush=True)
    failed = sum(trial.verdict.failed for trial in trials)
    print(f"{failed} of {len(trials)} cases failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
