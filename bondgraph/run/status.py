"""Status codes of runs, machine code and integrators, with a message for each."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """State of a step, a segment, a lane or a whole run; negative if it failed.

    >>> Status.EVENT, int(Status.EVENT), Status(-2).text
    (<Status.EVENT: 1>, 1, 'not finite: a rate is not finite')
    """

    text: str

    def __new__(cls, value: int, text: str) -> Status:
        member = int.__new__(cls, value)
        member._value_, member.text = value, text
        return member

    # How a segment of integration ended.
    STOP = 0, "the stop time is reached"
    EVENT = 1, "a guard crossed zero"
    PAUSE = 2, "the budget of steps is spent: call again"
    STIFF = 3, "the model is stiff: continue with a stiff method"
    EVENT_ENDS = 17, "an event ends the run"
    LOG_FULL = 16, "the event log is full: empty it and call again"
    STEP_TOO_SMALL = -1, "step too small: the error per step stays too large however small the step"
    NOT_FINITE = -2, "not finite: a rate is not finite"
    # Requests of the step size control.
    DOUBT = 4, "a rejected step: the error weights must be measured again"
    RENEW = 5, "the error weights or the noise must be measured again"
    ATTEMPT = 20, "a step is to be attempted"
    ACCEPT = 21, "the step is accepted"
    RETRY = 22, "continue with the next step, or with a shorter one"
    # State of a run in a SIMD lane.
    LANE_RUNS = 30, "the run is in a lane"
    LANE_STARTS = 31, "the run has begun without error weights"
    LANE_WAITS = 32, "the run waits for a lane"
    # Ends of a batch run that machine code alone cannot check.
    TOO_MANY_STEPS = 100, "the run takes too many steps"
    UNTRUSTED = 101, "the run may be invalid: Python must check it"
    NOT_STARTED = 102, "only Python can begin the run"

    @property
    def failed(self) -> bool:
        return self < 0


STATUSES = {int(member): member for member in Status}
