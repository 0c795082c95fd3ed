"""Interface of a one-step method to the integration loop, and the table of fields that all methods share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.reference.natural_scales import MIN_ERROR
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.steppers.shared_fields import Fields, with_shared

# y, y_new, y_stage: state at the start and end of a step and argument of the last stage; y_begun: states (n,) at the start of the
# run, before anything happened; k: rates, those at the start first.
# moved: whether the state has changed since the last attempt; most: maximum number of steps of a run; inspection: number of
# steps of the next inspection of the pace, t_inspected: time of the last one, pace: mean step since then if it is too slow, or 0.
# weights ...: the table of the error control, and its procedures (`accuracy.error_weights`).
# doubts: rejections since the last noise test; retries: of the present step, retry_limit: number of them before a noise test
# where no noise is known; noisy: whether there is noise, and in how many steps it was used; cornered: noise
# was tested already at the smallest step; grow ... landing: state of the loop between calls; trial, target, is_last: length and
# end of the attempted step, and whether that is the horizon.
# alert: number of steps for which an implicit method still looks for growing modes with a margin; factored: step size of the
# factors at hand, or 0.
# periods ... breaks: of each row of `clock_schedule.ClockSchedule`; horizon: the next tick, or the end.
COMMON = with_shared(
    "rates_and_powers y y_stage y_begun k periods tick_offsets following tick_index tick_kernels breaks"
    " instants weights weights_reset weights_begin weights_refresh weights_test_noise weights_decay",
    "width budget watch stiff mild rate_count jacobian_count rejected clock_count doubts renewal noisy is_landing landings tried"
    " once cornered mode_count moved most is_last inspection alert retries retry_limit",
    "span horizon h_max grow landing trial target pace t_inspected factored",
)
"""Fields that have the same offset in the table of every method."""


AT_HAND, DAMPED, NOT_AT_HAND = range(3)
"""Outcomes of `foresee`: the Jacobian at the end of the step is at hand; the step damps a mode that grows; the Jacobian is not at
hand."""


def with_method_fields(pointers: str, wholes: str = "") -> Fields:
    """Return the common fields, followed by the method's own."""
    fields = [(name, kind) for kind, names in (("ptr", pointers), ("i64", wholes)) for name in names.split()]
    if double := COMMON.keys() & {name for name, _ in fields}:
        raise ValueError(f"fields of the method that all have: {sorted(double)}")
    return dict(COMMON) | {name: (len(COMMON) + k, kind) for k, (name, kind) in enumerate(fields)}


@dataclass(frozen=True, eq=False)
class Method:
    """One-step method.

    Its procedures are attempt (c, h, t_new): take a step from y to y_new, compute the `k` at its end, and return its error over
    the tolerance; prepare_dense (c, h) and dense (c, theta, out): state at a fraction of the step just attempted; `cubic` (c,
    theta, h, out): a cheap approximation of it; stiffness (c, h), if `explicit`: 1 if the method should change; otherwise
    foresee (c, h, error): one of the outcomes above.

    Parameters
    ----------
    name : prefix of the procedures that begin and continue a run (`<name>_begin`, `<name>_advance`).
    fields : its table.
    last : index in `k` of the rates at the end of a step.
    explicit : whether it is for nonstiff models, and detects stiffness.
    root : root of an error over the tolerance by which to divide the step size.
    rounding : effect of rounding on state i in a step of length h.
    procedures : returns the procedures, callees first.
    """

    name: str
    fields: Fields
    last: int
    cubic: str
    explicit: bool
    root: Callable[[Procedure, Temporary], Temporary]
    rounding: Callable[[Record, Temporary, Temporary], Temporary]
    procedures: Callable[[], list[Procedure]]

    def record(self, write: Procedure) -> Record:
        """Return the table passed as argument c."""
        return Record(write["c"], self.fields)


def derivative(fields: Fields) -> Procedure:
    """Evaluate the rates, and the powers if the stage contributes to their integrals (`full`), at (t, y) into k."""
    write = Procedure("derivative", {"c": "ptr", "t": "double", "y": "ptr", "k": "ptr", "full": "i64"}, internal=True)
    record = Record(write["c"], fields)
    t, y, k = clock_time(write, record, write["t"]), write["y"], write["k"]
    p, m = record.get("p"), record.get("m")
    record.count("rate_count")
    quadratures, fused = record.get("quadratures"), record.get("rates_and_powers")
    with write.when(fused.is_given() & write["full"].equals(1)):
        write.call(fused, [t, y, p, m, k])
        write.give()
    write.call(record.get("rates"), [t, y, p, m, k])
    with write.when((quadratures > 0) & write["full"].equals(1)):
        write.call(record.get("powers"), [t, y, p, m, k.at(record.get("n"))])
    write.give()
    return write


def error_weight(write: Procedure, record: Record, i: Temporary, magnitude: Temporary) -> Temporary:
    """Return the error weight of component i of size `magnitude`, without noise: rtol max(size_i, floor_i, magnitude), at least
    `UNDRIVEN`, the weight of a state that (almost) nothing drives."""
    size = write.intrinsic("maxnum", record.get("size")[i], record.get("floor")[i])
    return write.intrinsic("maxnum", record.get("rtol") * write.intrinsic("maxnum", size, magnitude), MIN_ERROR)
