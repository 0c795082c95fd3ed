"""Verdicts on cases: the result of the run of a family and seed, compared with its reference solution."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph import compile_model
from bondgraph.errors import ScrewbondError
from campaigns.ideal import building, drawing
from campaigns.ideal.drawing import END, SAMPLES, Case
from campaigns.ideal.halving import Reference
from campaigns.ideal.linkages import integrated
from campaigns.ideal.loop_analysis import analysed
from campaigns.ideal.moreau import stepped
from campaigns.ideal.records import Linkage, Masses, Network
from campaigns.processes import limit_time

KINDS = ("right", "rightly refused", "undecided", "wrong", "ended early", "refused", "slow", "crashed")
FAILED = KINDS[3:]
LONGEST = 20.0
"""CPU time (s) of compiling and running after which a case counts as slow; the run is interrupted after twice that time."""
FAMILIES: Mapping[str, Callable[..., Case]] = {
    "networks": drawing.drawn_network,
    "masses": drawing.drawn_masses,
    "linkages": drawing.drawn_linkage,
}


@dataclass(frozen=True)
class Verdict:
    """Verdict: one of `KINDS`, the cause (a code, or a message without its numbers), and the observation."""

    kind: str
    cause: str = ""
    detail: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        return self.kind in FAILED


@dataclass(frozen=True)
class Run:
    """Result of a run: values (samples, channels) up to its end, when and why it ended, refusal, CPU time (s)."""

    values: np.ndarray
    t: np.ndarray
    message: str = ""
    refusal: str = ""
    seconds: float = 0.0


def reference(case: Case, finer: int = 1) -> Reference:
    if isinstance(case, Network):
        return analysed(case, SAMPLES, 2e-3 / finer)
    return stepped(case, SAMPLES, 1e-3 / finer) if isinstance(case, Masses) else integrated(case, SAMPLES)


def run(case: Case) -> Run:
    begin, nothing = time.process_time(), np.zeros((0, 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph, names, values = _built(case)
            compiled = compile_model(graph, progress=False)
            initial = compiled.consistent(keep=names) if isinstance(names, dict) else {}
            result = compiled.simulate(END, samples=SAMPLES, initial=initial, progress=False)
    except ScrewbondError as error:
        return Run(nothing, nothing[:, 0], refusal=str(error), seconds=time.process_time() - begin)
    message = "" if result.failure is None else str(result.failure)
    return Run(values(result), result.t, message, seconds=time.process_time() - begin)


def _built(case: Case) -> tuple[Any, Any, Callable[[Any], np.ndarray]]:
    if isinstance(case, Linkage):
        graph, rates = building.linkage_graph(case)
        return graph, rates, _crank
    graph, names = building.network_graph(case) if isinstance(case, Network) else building.masses_graph(case)
    return graph, names, lambda result: np.array([np.ravel(result[name]) for name in names]).reshape(len(names), len(result.t)).T


def _crank(result: Any) -> np.ndarray:
    a, w = np.ravel(result["crank.q"]), np.ravel(result["crank.rate"])
    return np.column_stack([np.cos(a), np.sin(a), w])


def verdict_on(case: Case, limited: bool = False) -> Verdict:
    """Run a case and compare it with its reference solution; `limited` interrupts this process when the run takes too long."""
    try:
        known = reference(case)
    except (RuntimeError, np.linalg.LinAlgError) as error:
        return Verdict("undecided", "the reference program fails", str(error))
    if limited:
        limit_time(2.0 * LONGEST, time.process_time() + LONGEST)
    try:
        seen = run(case)
    except KeyboardInterrupt:
        return Verdict("slow", "interrupted", seconds=2.0 * LONGEST)
    except Exception as error:  # any other error is not a refusal
        return Verdict("crashed", type(error).__name__, str(error)[:300])
    verdict = compared(seen, known)
    if verdict.kind == "wrong" and not isinstance(case, Linkage):
        # An event right after a time that all step sizes share has the same error with each step size, unseen by halving.
        try:
            return compared(seen, reference(case, finer=10))
        except KeyboardInterrupt:
            return Verdict("undecided", "the reference program takes too long", verdict.detail, verdict.seconds)
    return verdict


def compared(seen: Run, known: Reference) -> Verdict:
    text, seconds = " ".join((seen.message or seen.refusal).split())[:600], round(seen.seconds, 2)
    if not known.converged:
        return Verdict("undecided", "the reference does not converge", text, seconds)
    none = math.isfinite(known.ends)
    if seen.refusal and seen.seconds <= LONGEST:
        return Verdict("rightly refused" if none else "refused", cause(seen.refusal), text, seconds)
    if seen.refusal:
        return Verdict("slow", cause(seen.refusal), text, seconds)
    last = min(float(seen.t[-1]), END)
    count = int(np.sum((known.ends > SAMPLES) & (last * (1.0 + 1e-12) >= SAMPLES)))
    off = np.abs(seen.values[:count] - known.values[:count])
    beyond = ~(off <= known.error)
    beyond[:1] = False  # values may jump at the start
    if np.any(beyond.sum(axis=0) >= 2):  # a single sample may be at an event
        row, channel = np.argwhere(beyond)[0]
        numbers = f"{seen.values[row, channel]:.6g}, not {known.values[row, channel]:.6g} +- {known.error[channel]:.1g}"
        where = f"channel {channel} at {SAMPLES[row]:.2f} s: {numbers}; {text}"
        return Verdict("wrong", "differs" + (" and ends early" if text else ""), where, seconds)
    if none and text and abs(last - known.ends) < 0.05:
        return Verdict("rightly refused", cause(seen.message), text, seconds)
    if none and not text:
        return Verdict("wrong", "runs on without a solution", f"no solution exists from {known.ends:.3f} s on", seconds)
    if seen.seconds > LONGEST:
        return Verdict("slow", cause(seen.message), f"at {last:.4f} s: {text}" if text else "", seconds)
    return (
        Verdict("ended early", cause(seen.message), f"at {last:.4f} s: {text}", seconds)
        if text
        else Verdict("right", "", "", seconds)
    )


def cause(message: str) -> str:
    """Return the error code and its line of the message, or the first line without a code, with names and numbers removed."""
    line = next((line for line in message.splitlines() if re.search(r"\b[EG]\d{3} ", line)), message.partition("\n")[0])
    line = line.partition(" s: ")[2] or line
    code = re.match(r"\s*([EG]\d{3} )?", line)
    words = re.sub(r'"[^"]*"', '"..."', line[code.end() :] if code else line)
    return ((code[1] or "") if code else "") + re.sub(r"[-+]?\d+\.?\d*(e[-+]?\d+)?", "#", words)[:80]
