"""The table that the explicit method's machine code and Python share; vectors hold states, then integrated powers."""

from __future__ import annotations

STAGES, EXTENDED, DENSE = 12, 16, 7
STOP, EVENT, PAUSE, STIFF, SMALL, NOT_FINITE = 0, 1, 2, 3, -1, -2

# y, y_new, y_stage: state at the start and end of a step and argument of the last stage; k: rates of all stages;
# f: coefficients of the dense output; g: guards at the `PLACES` of a step; theta: where in the step each guard fires.
# periods ... breaks: of each row of `ticks.Ticks`; horizon: the next tick, or the end.
# origin, window: as in `bound.Bound`; t is the time since the start of the run.
_POINTERS = (
    "rates powers fused guards p m levels y y_new y_stage y_dense k f atol times rows g g_dense theta fired"
    " periods tick_offsets following tick_index tick_kernels breaks window"
)
_WHOLES = (
    "n quadratures width guard_count samples written budget fresh watch stiff mild"
    " rate_count guard_calls steps rejected first landings clock_count once"
)
_REALS = "t origin span stop horizon h h_max rtol slope"
FIELDS: dict[str, tuple[int, str]] = {}
for _kind, _names in (("ptr", _POINTERS), ("i64", _WHOLES), ("double", _REALS)):
    for _name in _names.split():
        FIELDS[_name] = (len(FIELDS), _kind)
