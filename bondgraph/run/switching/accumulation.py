"""Events that follow one another ever faster: seen by their times, with the limit that these lead to."""

from __future__ import annotations

from collections import deque

import numpy as np

WINDOW = 50
_ROUNDING = 64.0 * WINDOW * 2.3e-16
_RATIOS = 8
# So many events within that part of the run, whose times apart do not shrink below that part, stand for rest where there is one.
_STEADY, _BRIEF, _SHRUNK = 1000, 1e-5, 0.95


class Watch:
    """Remembers the times of recent events per transition and sees when they accumulate."""

    def __init__(self, span: float, rtol: float):
        self._span, self._rtol = span, rtol
        self._times: dict[int, deque[float]] = {}

    def add(self, time: float, transition: int, may_rest: bool = False) -> str:
        """Note an event of a transition; "chattering", "Zeno", or "" if all is well.

        Where a state of rest follows such events (`may_rest`), as of a ball whose floor rises as slowly as a gap is drawn in, so
        do events that have no limit but are so many that the run would not see its end.
        """
        times = self._times.setdefault(transition, deque(maxlen=_STEADY))
        times.append(time)
        if len(times) >= WINDOW and time - times[-WINDOW] <= max(1e-10 * self._span, _ROUNDING * abs(time)):
            return "chattering"
        if may_rest and len(times) == _STEADY and time - times[0] <= _BRIEF * self._span:
            steps = np.diff(np.array(times))
            if steps[-WINDOW:].sum() >= _SHRUNK * steps[:WINDOW].sum():
                return "chattering"
        if len(times) < _RATIOS + 2 or not 0.0 < times[-1] - times[-2] < times[-2] - times[-3]:
            return ""
        recent = [times[i] for i in range(len(times) - _RATIOS - 2, len(times))]
        steps = np.diff(np.array(recent))
        if np.all(steps > 0.0) and np.all(steps[1:] < steps[:-1]):
            ratios = steps[1:] / steps[:-1]
            ratio = float(ratios.mean())
            left = float(steps[-1]) * ratio / (1.0 - ratio)
            if ratios.max() - ratios.min() < 0.05 * ratio and left < self._rtol * self._span:
                return "Zeno"
        return ""

    def limit(self, transition: int) -> float:
        """Where the times of a transition's last events lead, as a geometric series; the last of them if nowhere."""
        times = [*self._times.pop(transition, ())][-_RATIOS - 2 :]
        steps = np.diff(np.array(times))
        if len(steps) < 2 or not np.all(steps > 0.0):
            return times[-1] if times else 0.0
        ratio = float((steps[-1] / steps[0]) ** (1.0 / (len(steps) - 1)))
        return times[-1] + (float(steps[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else 0.0)

    def shrinking(self, transition: int) -> bool:
        """Whether the times between the last events of a transition shrink."""
        steps = np.diff(np.array([*self._times.get(transition, ())][-WINDOW:]))
        steps = steps[steps > 0.0]
        return len(steps) > 4 and bool(steps[-1] < 0.1 * steps[:-1].max())
