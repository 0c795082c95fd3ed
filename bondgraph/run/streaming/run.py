"""Run that keeps only some quantities, and checks its `KeptResult`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.output.lazy import LazyRow
from bondgraph.output.progress import Progress
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.records import Events
from bondgraph.run.hybrid import Hybrid, statistics_of
from bondgraph.run.measures import Measure
from bondgraph.run.program import Program, Slot
from bondgraph.run.results.result import Result
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import Settings
from bondgraph.run.steppers.segment import Selection
from bondgraph.run.streaming.consume import SampleConsumer
from bondgraph.run.streaming.partial_result import KeptResult, NotKept
from bondgraph.run.streaming.quantities import ChosenQuantities, chosen_quantities, measures_of
from bondgraph.run.validation.checked_result import checked_result, rank_loss
from bondgraph.run.validation.concerns import validity_concerns
from bondgraph.run.validation.impact_friction import friction_concerns
from bondgraph.run.validation.surface_contacts import contact_concerns
from bondgraph.run_arguments import KeepOptions, KeptQuantity, Sink, Sinkable
from bondgraph.sinks.file_sinks import sink_for


class Memory(Sink):
    def __init__(self, samples: int, slots: Mapping[str, Slot]):
        self._samples, self._written = samples, 0
        self.values = {name: np.empty((samples, *slot.shape)) for name, slot in slots.items()}

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None: ...

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        for name, array in values.items():
            self.values[name][self._written : self._written + len(t)] = array
        self._written += len(t)

    def end(self, wrong: str, valid: int) -> None:
        if valid < self._samples:
            self.values = {name: array[:valid].copy() for name, array in self.values.items()}

    def abandon(self) -> None:
        self.values = {}


PAGE = 2**18
"""Number of values in a page of samples (at least one sample): 2 MB, which fits into a processor's cache."""

RequestedTimes = tuple[np.ndarray, np.ndarray]
"""Requested sample times, measured from the start and on the user's clock, (k,) s each."""


@dataclass(frozen=True)
class KeptRuns:
    """Quantities that runs of a program keep, with their sink (None for the result itself), or named measures of these
    quantities."""

    program: Program
    choice: Selection
    requested: RequestedTimes
    chosen: ChosenQuantities
    sink: Sinkable | None
    measures: Mapping[str, Measure]

    def result(self, settings: Settings, bar: Progress, begun: float) -> KeptResult:
        sink: Sink = Memory(len(self.requested[0]), self.chosen.slots) if self.sink is None else sink_for(self.sink)
        try:
            sink.begin(self.program.name, LazyRow(lambda: self.chosen.quantities(self.program.layout)))
            result = self._result(settings, sink, bar, begun)
            wrong = [*([] if result.failure is None else [result.failure]), *result.warnings]
            sink.end("\n".join(map(str, wrong)), len(result.t))
        except BaseException:
            sink.abandon()
            raise
        if not isinstance(sink, Memory):
            return result
        complete = replace(result, values=sink.values)
        return self._measured(complete) if self.measures else complete

    def _measured(self, result: KeptResult) -> KeptResult:
        """Return the result with its measures, and without the measured quantities except series. If the run ended early, all
        measures except series are NaN."""
        measured, failed = dict[str, np.ndarray](), result.failure is not None
        for name, measure in self.measures.items():
            lost = failed and not measure.kind.over_time
            measured[name] = np.full(measure.shape(self.program), np.nan) if lost else measure(result)
        series = {measure.of for measure in self.measures.values() if measure.kind.over_time}
        slots = {name: slot for name, slot in result.slots.items() if name in series}
        values = {name: array for name, array in (result.values or {}).items() if name in series}
        return replace(result, slots=slots, values=values, measured=measured)

    def _result(self, settings: Settings, sink: Sink, bar: Progress, begun: float) -> KeptResult:
        program, (since, dates) = self.program, self.requested
        consumer = SampleConsumer(self.chosen, self.requested, sink.take)
        run = _begun(program, settings, consumer, bar)
        run.run(self.choice)
        run.samples.flush()
        valid = consumer.finish()
        statistics = statistics_of(run, self.choice, time.perf_counter() - begun)
        numbers, x, m, q = consumer.kept_samples(valid)
        events = Events.of(program, settings.p, settings.t_start, run.log)
        is_requested = np.isin(settings.times[numbers], since)
        requested = np.searchsorted(since, settings.times[numbers][is_requested])
        unchecked = Result(
            program=program,
            p=settings.p,
            t=settings.dates[numbers],
            since=settings.times[numbers],
            x=x,
            m=m,
            integrals=q,
            start_energies=run.start_energies,
            events=events,
            failure=run.failure,
            statistics=statistics,
        )
        lost = rank_loss(unchecked, settings.t_start, run.t, run.x)
        checked = checked_result(unchecked, settings.t_start, (since[requested], dates[requested]), lost)
        count = consumer.requested_count(valid)
        if checked.failure is not run.failure:
            count = min(count, int(np.searchsorted(since, checked.since[-1], side="right")))
        totals = consumer.account.ledger(float(dates[count - 1]))
        concerns = () if checked.failure is not None else validity_concerns(checked, totals, settings.rtol)
        concerns = (*concerns, *contact_concerns(unchecked, settings.rtol), *friction_concerns(checked))
        last = consumer.last if consumer.sent == count else None
        if last is None and checked.since[-1] == since[count - 1]:
            last = checked.x[-1], checked.m[-1]
        own_since, own_dates = consumer.times(count)
        names, in_sink = tuple(self.measures or self.chosen.slots), not isinstance(sink, Memory)
        return KeptResult(
            program=program,
            p=settings.p,
            t=own_dates,
            since=own_since,
            x=NotKept("x, the states at all samples,", names, in_sink),  # type: ignore[arg-type]
            m=NotKept("m, the modes at all samples,", names, in_sink),  # type: ignore[arg-type]
            integrals=NotKept("integrals, the integrated powers at all samples,", names, in_sink),  # type: ignore[arg-type]
            start_energies=run.start_energies,
            events=checked.events,
            failure=checked.failure,
            statistics=replace(statistics, wall_time=time.perf_counter() - begun),
            warnings=concerns,
            slots=self.chosen.slots,
            values=None,
            totals=totals,
            last=last,
        )


def _begun(program: Program, settings: Settings, consumer: SampleConsumer, bar: Progress) -> Hybrid:
    bound = Bound(program, settings.p, settings.t_start, settings.span)
    ticks = ClockSchedule(bound, settings.t_start, settings.t_start + settings.span, settings.max_steps)
    widths = program.states, program.quadratures, program.modes
    room = min(len(settings.times), max(1, PAGE // max(sum(widths), 1)))
    run = Hybrid(bound, settings, ticks, bar, samples=SampleRows(room, *widths, consumer=consumer.take))
    consumer.begin(run)
    return run


def kept_runs(program: Program, choice: Selection, requested: RequestedTimes, options: KeepOptions) -> KeptRuns | None:
    """Return the quantities or measures that runs keep; None for everything.

    Raises `RunError` E346 for invalid names, E348 for an invalid sink or a sink without quantities; `FileError` E415 for an
    unknown file type.
    """
    if options.sink is not None:
        sink_for(options.sink)
    if options.keep is None and options.sink is None:
        return None
    if options.keep is None:
        title, why = "no quantities for the sink", "a sink takes the quantities that keep= names"
        raise RunError(Problem("E348", title, (why,), cures=('keep=["rotor.flow"], sink="run.parquet"',)))
    measures = measures_of(program, options.keep) if isinstance(options.keep, Mapping) else {}
    if measures and options.sink is not None:
        why = "a sink takes samples during the run, but a measure is known only at its end"
        cures = ('keep=["rotor.flow"], sink="run.parquet"', "keep={...} without sink=, in a second run")
        raise RunError(Problem("E348", "measures cannot be written to a sink", (why,), cures=cures))
    names = options.keep if not isinstance(options.keep, Mapping) else list(dict.fromkeys(_quantities(measures)))
    chosen = chosen_quantities(program, names, len(requested[0])) if not measures or names else ChosenQuantities({}, {}, None)
    return KeptRuns(program, choice, requested, chosen, options.sink, measures)


def _quantities(measures: Mapping[str, Measure]) -> list[str]:
    return [measure.of for measure in measures.values() if not measure.kind.of_event]
