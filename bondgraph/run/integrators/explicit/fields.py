"""The table that the explicit method's machine code and Python share; vectors hold states, then integrated powers."""

from __future__ import annotations

STAGES, EXTENDED, DENSE = 12, 16, 7
STOP, EVENT, PAUSE, STIFF, DOUBT, RENEW, SMALL, NOT_FINITE = 0, 1, 2, 3, 4, 5, -1, -2

# y, y_new, y_stage: state at the start and end of a step and argument of the last stage; k: rates of all stages;
# f: coefficients of the dense output; g: guards at the `PLACES` of a step; theta: where in the step each guard fires.
# size, floor, noise, exceeded: as in `weights`; doubts: rejections since the last question; noisy: whether there is noise, and in
# how many steps it was used; cornered: asked already
# at the smallest step; grow ... landing: what the loop must find as it was when it is entered again.
# periods ... breaks: of each row of `ticks.Ticks`; horizon: the next tick, or the end.
# origin, window: as in `bound.Bound`; t is the time since the start of the run.
_POINTERS = (
    "rates powers fused guards p m levels y y_new y_stage y_dense k f size floor noise exceeded times rows g g_dense theta fired"
    " periods tick_offsets following tick_index tick_kernels breaks window"
)
_WHOLES = (
    "n quadratures width guard_count samples written budget fresh watch stiff mild"
    " rate_count guard_calls steps rejected first clock_count doubts patience renewal noisy"
    " noisy_steps is_landing landings tried once cornered"
)
_REALS = "t origin span stop horizon h h_max rtol slope grow landing"
FIELDS: dict[str, tuple[int, str]] = {}
for _kind, _names in (("ptr", _POINTERS), ("i64", _WHOLES), ("double", _REALS)):
    for _name in _names.split():
        FIELDS[_name] = (len(FIELDS), _kind)
