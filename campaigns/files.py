"""Mutate files of contacts, hands and delta robots: each must be read or refused with a code, and each run writes all files or
none.

There must be no traceback, partial output, crash or hang: `python -m campaigns.files --count 10000 --runs 300 --seed 1`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from screwbond.models.cli import main as run_command
from screwbond.models.delta.command import TASKS
from screwbond.models.delta.kinematics.parameters import DeltaParameters, read_parameters
from screwbond.models.hand import SCENARIOS, read_scenario, to_json
from screwbond.models.hand.command import TASK as HAND
from screwbond.models.two_bodies.command import TASK as CONTACT
from screwbond.models.two_bodies.scenario import read_scenario as read_contact

from bondgraph.errors import ScrewbondError
from campaigns.mutations import mutated
from campaigns.processes import Progress, limit_addresses, limit_time

PICTURES = (".png", ".html", ".mp4", ".gif")
LONGEST_READ, LONGEST_RUN, LONGEST_END = 10.0, 60.0, 60.0
"""CPU times (s) after which reading a file counts as a hang, after which a run is interrupted, and after which an interrupted run
that does not end counts as a hang."""
LONGEST_WAIT = 1800.0
"""Wall time (s) after which a run that takes no CPU time counts as a hang."""
LONGEST_MOTION = 1.0
"""Simulated time (s): a mutated file that requests a longer run, up to `ENDLESS`, is only read, since the run may take hours."""
ENDLESS = 1e9


@dataclass(frozen=True)
class Format:
    """File format: valid files, its reader, its command, and the files that the command writes, without pictures."""

    seeds: tuple[str, ...]
    read: Callable[[Path], Any]
    command: Callable[[Path], list[str]]
    files: tuple[str, ...]


def _contact_seeds() -> tuple[str, ...]:
    egg = {"type": "egg", "f": 0.035, "S": 0.084, "zB": 0.0104}
    still: dict[str, Any] = {"motion": "fixed", "p0": [0, 0, 0], "quat0_wxyz": [1, 0, 0, 0]}
    free = {
        "motion": "free",
        "mass": 0.06,
        "inertia": [1.5e-5, 1.5e-5, 1.2e-5],
        "p0": [0.0, 0.0, 0.06],
        "quat0_wxyz": [0.8, 0.6, 0, 0],
        "v0_com_world": [0.1, 0.0, -0.5],
        "omega0_world": [1.0, 2.0, 3.0],
    }
    plane: dict[str, Any] = {**still, "surface": {"type": "plane"}}
    sphere: dict[str, Any] = {**free, "surface": {"type": "sphere", "radius": 0.05}}
    disc = {"type": "ellipsoid", "semi_axes": [0.1, 0.12, 0.02]}
    turning = {**still, "motion": "prescribed", "omega0_world": [0, 0, 1.0], "surface": disc}
    hard = {"constrained": ["v_z"], "k_n": 5e4, "c_n": 1.0}
    rough = {**hard, "constrained": ["v_x", "v_y", "v_z"], "k_t": 1e4, "r_t": 10.0, "friction": 0.3}
    down = {"type": "uniform", "vector": [0, 0, -9.81]}
    cases = (
        (plane, {**free, "surface": egg}, hard, down),
        (plane, sphere, rough, {"type": "none"}),
        (turning, {**sphere, "p0": [0.0, 0.0, 0.072]}, rough, {"type": "central", "g0": 9.81}),
    )
    names = ("body1", "body2", "contact", "gravity")
    times: dict[str, Any] = {"name": "case", "t_end": 0.02, "sample_dt": 0.001}
    return tuple(json.dumps({**times, **dict(zip(names, case, strict=True))}, indent=1) for case in cases)


def _hand_seeds() -> tuple[str, ...]:
    short = SCENARIOS["main"].changed(t_end=0.02, sample_dt=0.005)
    box = {
        "t_end": 0.02,
        "motion": [{"along": [0.001, 0, 0], "about": [0, 0, 0.01], "from": 0.0, "to": 0.01}],
        "parameters": {"fingers": 3, "friction": 0.7, "grip": 0.01},
    }
    return to_json(short), json.dumps(box, indent=1)


FORMATS = {
    "contact": Format(_contact_seeds(), read_contact, lambda path: ["contact", str(path)], CONTACT.names),
    "hand": Format(_hand_seeds(), read_scenario, lambda path: ["hand", "--scenario", str(path)], HAND.names),
    "delta": Format(
        (DeltaParameters.fit().to_json(), DeltaParameters.lab().to_json()),
        read_parameters,
        lambda path: ["delta", "simulate", "--params", str(path), "--t-end", "0.01"],
        TASKS["simulate"].names,
    ),
}


def read_trial(form: Format, data: bytes, folder: Path) -> tuple[str, str, Any]:
    """Read a file; return ("read", "", content), ("refused", code, None) or ("wrong", details, None)."""
    path = folder / "given.json"
    path.write_bytes(data)
    begin = time.process_time()
    try:
        found = form.read(path)
    except ScrewbondError as error:
        codes = re.findall(r"^\s*([EG]\d{3}) ", str(error), flags=re.MULTILINE)
        outcome = ("refused", codes[0], None) if codes else ("wrong", f"no code: {error}", None)
    except BaseException:
        return "wrong", traceback.format_exc(limit=-3), None
    else:
        outcome = "read", "", found
    return outcome if time.process_time() - begin < LONGEST_READ else ("wrong", "it hangs", None)


def run_trial(form: Format, data: bytes, folder: Path) -> tuple[str, str]:
    """Run the command on a file in this process; return ("done" | "ended" | "refused" | "interrupted" | "wrong", details)."""
    path, out = folder / "given.json", folder / "out"
    path.write_bytes(data)
    said, told = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(said):
            status = run_command([*form.command(path), "--no-render", "--out", str(out)])
    except BaseException:
        return "wrong", traceback.format_exc(limit=-3)
    text = said.getvalue()
    if "internal error" in text or "Traceback" in text or "Warning" in text:
        return "wrong", text
    if status == 130:
        return ("wrong", f"left {out}") if out.exists() else ("interrupted", "")
    if status == 2:
        left = "" if not out.exists() else f"left {sorted(p.name for p in out.iterdir())}: "
        if left or not text.startswith("screwbond: "):
            return "wrong", left + text
        codes = re.findall(r"\b[EG]\d{3}\b", text)
        return ("refused", codes[0]) if codes else ("wrong", f"no code: {text}")
    wrong = _incomplete(out, [name for name in form.files if not name.endswith(PICTURES)])
    return ("wrong", wrong) if wrong else (("done", "") if status == 0 else ("ended", text.strip()))


def _incomplete(out: Path, files: list[str]) -> str:
    there = {path.name for path in out.iterdir()} if out.is_dir() else set()
    if there != set(files):
        return f"there are {sorted(there)}, not {sorted(files)}"
    for name in files:
        content = (out / name).read_bytes()
        if not content:
            return f"{name} is empty"
        if name.endswith(".json"):
            try:
                json.loads(content, parse_constant=_refuse)
            except ValueError as error:
                return f"{name} is not JSON: {error}"
    return ""


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def campaign(count: int, runs: int, seed: int, *, first: int = 0, progress: bool = False) -> tuple[Counter[str], list[str]]:
    """Mutate `count` files in turn from number `first`, read them, and run the first `runs` readable files.

    Return how often each outcome occurred, and the failures as `format seed number: what`.
    """
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    names = list(FORMATS)
    watched = Progress(count, "files", shown=progress)
    with tempfile.TemporaryDirectory() as place:
        for number in range(first, first + count):
            name = names[number % len(names)]
            data = mutant(name, seed, number)
            folder = Path(place)
            kind, what, found = read_trial(FORMATS[name], data, folder)
            if kind == "read" and runs > 0 and _is_short(found):
                runs -= 1
                kind, what = _run_in_process(name, data, folder / str(number))
                kind = f"run, {kind}"
            outcomes[f"{name}: {kind}" + (f" {what}" if re.fullmatch(r"[EG]\d{3}", what) else "")] += 1
            failure = f"{name} {seed} {number}: {what}" if kind.endswith("wrong") else ""
            wrong += [failure] if failure else []
            watched.add(failure)
    return outcomes, wrong


def mutant(name: str, seed: int, number: int) -> bytes:
    rng = random.Random(f"{name} {seed} {number}")
    return mutated(rng.choice(FORMATS[name].seeds).encode(), rng)


def _is_short(found: Any) -> bool:
    end = getattr(found, "t_end", 0.0)
    return not LONGEST_MOTION < end < ENDLESS


def _run_in_process(name: str, data: bytes, folder: Path) -> tuple[str, str]:
    folder.mkdir()
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(there, name, data, folder))
    process.start()
    there.close()
    if not here.poll(LONGEST_WAIT):
        process.kill()
        process.join()
        return "wrong", "it hangs"
    try:
        found: tuple[str, str] = here.recv()
    except EOFError:
        process.join()
        hangs = process.exitcode == -getattr(signal, "SIGXCPU", 0)
        return "wrong", "it hangs" if hangs else f"the process ended with exit code {process.exitcode}"
    process.join()
    return found


def _report(there: Any, name: str, data: bytes, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored
    limit_addresses(6 << 30)
    limit_time(LONGEST_RUN, LONGEST_END)  # a file may request endless steps; an interrupted run leaves no files
    there.send(run_trial(FORMATS[name], data, folder))


def lines(outcomes: Counter[str], wrong: list[str]) -> Iterator[str]:
    for outcome, number in sorted(outcomes.items()):
        yield f"{number:6d}  {outcome}"
    yield from wrong
    yield f"{len(wrong)} of {sum(outcomes.values())} files failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="files (default %(default)d)")
    parser.add_argument("--first", type=int, default=0, help="number of the first file (default %(default)d)")
    parser.add_argument("--runs", type=int, default=300, help="number of readable files that are also run (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default %(default)d)")
    given = parser.parse_args()
    outcomes, wrong = campaign(given.count, given.runs, given.seed, first=given.first, progress=True)
    print("\n" + "\n".join(lines(outcomes, wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
