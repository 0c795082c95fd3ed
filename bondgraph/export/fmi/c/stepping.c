/* Co-simulation: the run advances with its own steps, and shows its values at communication points. */

/* Give the run space for `samples` rows, at most one, at `c->time`. */
static void give_rows(Instance *c, int samples)
{
    char *b = c->block;
    set_place(b, AT_C_TIMES, &c->time);
    set_place(b, AT_C_ROWS, c->row);
    set_whole(b, AT_C_SAMPLES, samples);
    set_whole(b, AT_C_WRITTEN, 0);
#if HAS_EVENTS
    set_place(b, AT_S_ROWS, c->row);
    set_place(b, AT_S_HELD, c->held);
    set_whole(b, AT_S_WRITTEN, 0);
    set_whole(b, AT_S_SEEN, 0);
    set_whole(b, AT_S_HELD_ROWS, 0);
    set_whole(b, AT_S_LOGGED, 0);
    set_whole(b, AT_S_EVENTS_LEFT, INT64_C(1) << 60);
#endif
}

#if HAS_EVENTS
static const char *reason(int64_t outcome)
{
    switch (outcome) {
OUTCOMES
    default: return "an event ends the run";
    }
}
#endif

/* Return the result for a status of the run; log why the run has ended. */
static int result_of_status(Instance *c, int64_t status)
{
#if HAS_EVENTS
    set_whole(c->block, AT_S_LOGGED, 0);
    set_whole(c->block, AT_S_EVENTS_LEFT, INT64_C(1) << 60);
#endif
    const char *why = "the run ends for an unknown reason";
    int result = FAILED;
    switch (status) {
    case STATUS_RETRY:
    case STATUS_PAUSE:
    case STATUS_LOG_FULL: return FINE;
    case STATUS_STOP: return AT_STOP;
    case STATUS_STIFF: why = "the model has become stiff: export it with method=\"rodas5p\""; break;
    case STATUS_STEP_TOO_SMALL: why = "the error remains too large even for the smallest steps"; break;
    case STATUS_NOT_FINITE: why = "a rate is not finite"; break;
#if HAS_EVENTS
    case STATUS_EVENT_ENDS:
        why = reason(whole_at(c->block, AT_S_OUTCOME));
        result = whole_at(c->block, AT_S_OUTCOME) == OUTCOME_TERMINAL ? RUN_ENDS : FAILED;
        show(c);
        c->s.now = c->s.shown = real_at(c->block, AT_C_T);
#endif
    }
    refuse(c, "%s", why);
    return c->s.over = result;
}

/* Handle a pending event, or carry out one tick, or attempt one step. */
static int advance(Instance *c)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    const double t = real_at(b, AT_C_T);
#if HAS_EVENTS
    if (c->s.pending) {
        c->s.pending = c->s.in_step = 0;
        return result_of_status(c, sb_s_pass_event(table));
    }
#endif
    const int may_pass = whole_at(b, AT_C_FRESH) || whole_at(b, AT_C_IS_LANDING) || t + 1.05 * real_at(b, AT_C_H) >= c->s.goal;
    if (may_pass && !c->s.repeats)
        memcpy(c->before, b, 8 * (size_t)WORDS);
    if (HAS_CLOCKS && t >= c->s.goal && sb_s_has_tick(table))
        c->s.repeats = 1; /* inputs that are set at this point apply to its ticks */
    set_whole(b, AT_C_TRIED, 0);
    const int64_t status = sb_s_advance_run(table);
    if (real_at(b, AT_C_T) != t) {
        c->s.begun = t;
        c->s.length = real_at(b, AT_C_TRIAL);
        c->s.in_step = may_pass;
    }
    if (status == STATUS_EVENT) {
        c->s.pending = 1;
        return FINE;
    }
    return result_of_status(c, status);
}

/* Set or scale the numbers that depend on the start, the length and the tolerance of a run. */
static int fit_experiment(Instance *c)
{
    const double span = c->s.stop_given ? c->s.stop - c->s.start : SPAN;
    size_t k;
    if (!(span > 0.0))
        return refuse(c, "the stop time is not after the start");
    if (c->s.start != START) {
        if (!STARTS_MOVE)
            return refuse(c, "the model contains absolute times: start at %.9g s, as it was exported", (double)START);
        for (k = 1; k < sizeof starts / sizeof *starts; k++)
            set_real(c->block, starts[k], c->s.start);
    }
    if (span != SPAN && SPANS_SCALE)
        for (k = 1; k < sizeof spans / sizeof *spans; k++)
            set_real(c->block, spans[k], real_at(c->block, spans[k]) * (span / SPAN));
    if (span > SPAN && !SPANS_SCALE)
        return refuse(c, "the model contains absolute times, which are known only for %.9g s from the start", (double)SPAN);
    if (c->s.tolerance != RTOL)
        for (k = 1; k < sizeof tolerances / sizeof *tolerances; k++)
            set_real(c->block, tolerances[k], real_at(c->block, tolerances[k]) * (c->s.tolerance / RTOL));
    set_real(c->block, AT_C_STOP, span);
    return FINE;
}

/* Begin the run: events and ticks at the start. */
static int begin(Instance *c)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    fmu_load(b);
    if (fit_experiment(c))
        return FAILED;
    prepare(c);
    memcpy(b + 8 * AT_P, c->s.p, 8 * NP_ALL);
    memcpy(b + 8 * AT_X, c->s.x, 8 * NX);
    memcpy(b + 8 * AT_M, c->s.m, 8 * NM);
    set_whole(b, AT_C_BUDGET, 1);
    set_whole(b, AT_C_MOST, INT64_C(1) << 60);
#if HAS_EVENTS
    set_place(b, AT_S_ALL_HELD, c->held);
    set_whole(b, AT_S_MOST_EVENTS, INT64_C(1) << 60);
#endif
    c->time = 0.0;
    if (!sb_s_begin_run(table, b + 8 * AT_X, b + 8 * AT_M, (char *)&c->time, (char *)c->row, 1))
        return refuse(c, "the run cannot begin: a value is not finite, or an event at the start ends it");
    c->s.now = c->s.shown = 0.0;
    c->s.pending = c->s.in_step = c->s.changed = 0;
    c->s.repeats = c->s.kind & EXCHANGE ? 0 : FROM_START;
    give_rows(c, 0);
    show(c);
    return FINE;
}

/* If the run is ahead, go back to the current point, before its ticks, to continue with the new parameters. At the start, begin
 * again. */
static int take_changes(Instance *c)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    int status = FINE;
    if (c->s.repeats == FROM_START) {
        memcpy(c->s.x, b + 8 * AT_X, 8 * NX);
        memcpy(c->s.m, b + 8 * AT_M, 8 * NM);
        return begin(c);
    }
    if (real_at(b, AT_C_T) > c->s.shown) {
        memcpy(b, c->before, 8 * (size_t)WORDS);
        const double stop = real_at(b, AT_C_STOP);
        c->s.pending = c->s.in_step = 0;
        c->s.goal = HUGE_VAL;
        give_rows(c, 0);
        set_real(b, AT_C_STOP, c->s.shown);
        while (status == FINE && (real_at(b, AT_C_T) < c->s.shown || c->s.pending))
            status = advance(c);
        set_real(b, AT_C_STOP, stop);
        if (status == FAILED || status == RUN_ENDS)
            return status;
    } else if (c->s.repeats)
        memcpy(b, c->before, 8 * (size_t)WORDS);
    prepare(c);
    give_rows(c, 0);
    c->s.changed = c->s.in_step = 0;
    status = result_of_status(c, sb_s_resume(table, (char *)c->s.p, NP_ALL));
    while (HAS_CLOCKS && c->s.repeats && status == FINE && (c->s.pending || sb_s_has_tick(table)))
        status = advance(c);
    show(c);
    return status;
}

/* Show the run at a time within its last step. */
static void show_within(Instance *c, double t)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    /* the addresses in the copy refer to the block */
    const char *y = c->before + (place_at(c->before, AT_C_Y) - b);
    sb_s_look_within(table, (char *)y, (t - c->s.begun) / c->s.length, (char *)c->row);
    memcpy(c->s.x, c->row, 8 * NX);
    memcpy(c->s.m, place_at(b, AT_C_M), 8 * NM);
    c->s.known = 0;
}

/* Return 1 if an event or a tick is pending at the time of the run, and this time is not beyond `t`. */
static int has_pending(Instance *c, double t)
{
    return real_at(c->block, AT_C_T) <= t && (c->s.pending || (HAS_CLOCKS && sb_s_has_tick(c->block + 8 * (size_t)AT_C)));
}

/* Handle pending events and carry out pending ticks. */
static int settle(Instance *c)
{
    int status = FINE;
    c->s.goal = c->s.shown; /* the time shown may be before the communication point */
    while (status == FINE && has_pending(c, c->s.shown))
        status = advance(c);
    if (status == FAILED || status == RUN_ENDS)
        return status;
    show(c);
    return FINE;
}

/* In event mode: stop at a pending event or tick that has not been reported, at the point or, if the instance returns early, before
 * it; show the run there and return 1. */
static int stop_at_event(Instance *c)
{
    const double t = real_at(c->block, AT_C_T);
    if (c->s.kind != EVENT_MODE || t <= c->s.shown || (t < c->time && !c->returns_early) || !has_pending(c, c->time))
        return 0;
    c->early = t < c->time;
    c->s.now = c->s.shown = t;
    show(c);
    return 1;
}

/* Move a communication point to the next tick if they differ only by rounding error. */
static void meet_tick(Instance *c)
{
#if HAS_CLOCKS
    char *b = c->block;
    const double first = sb_s_due(b + 8 * (size_t)AT_C), size = fmax(fabs(c->time), fabs(first));
    if (isfinite(first) && fabs(first - c->time) <= SAME_TIME * size)
        c->time = first;
    if (c->time > real_at(b, AT_C_STOP)) /* by rounding error */
        set_real(b, AT_C_STOP, c->time);
#endif
}

/* Continue until the sample at `c->time` is written, or the run stops before that. */
static int run_on(Instance *c)
{
    char *b = c->block;
    int status = FINE;
    while (whole_at(b, AT_C_WRITTEN) < 1 && status == FINE) {
        if (stop_at_event(c))
            return FINE;
        meet_tick(c);
        c->s.goal = c->time;
        status = advance(c);
    }
    if (status == FAILED || status == RUN_ENDS)
        return status;
    return whole_at(b, AT_C_WRITTEN) < 1 ? refuse(c, "the communication point was not reached") : FINE;
}

/* Reach a communication point. The run takes its own steps, the last one beyond the point; ticks and events at the point
 * belong to the step, unless the importer handles them in event mode. A point beyond the stop time by at most `slack` counts as
 * the stop time: importers add up steps. */
static int reach(Instance *c, double t, double slack)
{
    char *b = c->block;
    int status = has_pending(c, c->s.shown) ? settle(c) : FINE;
    if (!status && c->s.changed)
        status = take_changes(c);
    if (status)
        return status;
    c->s.repeats = 0;
    const double stop = real_at(b, AT_C_STOP);
    if (fabs(t - stop) <= SAME_TIME * fabs(stop) || (t > stop && t - stop <= slack))
        t = stop;
    if (t > stop) {
        if (c->s.stop_given)
            return refuse(c, "a step leads beyond the stop time, %.9g s", c->s.stop);
        if (!SPANS_SCALE)
            return refuse(c, "the model contains absolute times, which are known only for %.9g s from the start", (double)SPAN);
        set_real(b, AT_C_STOP, t + SPAN);
    }
    c->time = t;
    give_rows(c, 1);
    meet_tick(c);
    if (real_at(b, AT_C_T) > c->time && c->s.in_step) {
        show_within(c, t);
        c->s.now = c->s.shown = t;
        return FINE;
    }
    status = run_on(c);
    if (status || c->early)
        return status;
    c->s.now = t;
    c->s.shown = c->time;
    if (real_at(b, AT_C_T) > c->time) {
        memcpy(c->s.x, c->row, 8 * NX);
        memcpy(c->s.m, place_at(b, AT_C_M), 8 * NM);
        c->s.known = 0;
    } else if (c->s.kind & EVENT_MODE)
        show(c);
    else
        return settle(c);
    return FINE;
}

/* Reach the end of a step from a communication point, or the event at which the instance returns early. */
static int take_step(Instance *c, double from, double length)
{
    const double since = from - c->s.start, slack = 1e-6 * length + 1e-14 * (fabs(c->s.start) + fabs(c->s.now));
    c->early = 0;
    if (c->s.over)
        return refuse(c, "the run has ended or failed: reset the instance");
    if (!isfinite(from) || !(length > 0.0) || !isfinite(length))
        return refuse(c, "a step from %.17g s of length %.17g s is not forward in time", from, length);
    if (fabs(since - c->s.now) > slack)
        return refuse(c, "a step begins at %.17g s, but the instance is at a different time", from);
    return reach(c, from + length - c->s.start, slack);
}

#if !BY_ELEMENT
/* Event mode of co-simulation: handle pending ticks and events with the current inputs; `next` is the time of the next tick, s. */
static int pass_events(Instance *c, int *jumps, double *next)
{
    double x[NX + 1];
    memcpy(x, c->s.x, 8 * NX);
    int status = c->s.pending && has_pending(c, c->s.shown) ? advance(c) : FINE;
    if (!status && c->s.changed)
        status = take_changes(c);
    if (!status && real_at(c->block, AT_C_T) <= c->s.shown)
        status = settle(c);
    *jumps = memcmp(x, c->s.x, 8 * NX) != 0;
    *next = c->s.start + (HAS_CLOCKS ? sb_s_due(c->block + 8 * (size_t)AT_C) : HUGE_VAL);
    return status;
}
#endif

/* Begin the run and the phase after initialization. */
static int begin_phase(Instance *c)
{
    if (begin(c))
        return FAILED;
    c->s.phase = c->s.kind ? EVENTS : STEPPING;
    return FINE;
}

/* Enter another phase, if the instance has it. */
static int enter(Instance *c, int phase)
{
    if (phase == STEPPING ? c->s.kind != EVENT_MODE : phase == CONTINUOUS ? c->s.kind != EXCHANGE : !c->s.kind)
        return refuse(c, "the instance was not created for this mode");
    c->s.phase = phase;
    return FINE;
}
