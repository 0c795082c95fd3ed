/* An instance of the model: the run as one block of words, as it is now and as it was before the step that reaches beyond the
 * present communication point. Times count from the start of the run, in s. */
enum { MADE = 1, SETUP = 2, STEPPING = 4, EVENTS = 8, CONTINUOUS = 16, ENDED = 32 };
enum { FINE, FAILED, AT_STOP, RUN_ENDS };
enum { STATE = 1, RATE, PARAMETER, OUTPUT, MODE, INDICATOR, KINDS };

/* What a saved state holds besides the two blocks. */
typedef struct {
    int phase, stop_given, changed, pending, in_step, repeats, prepared, known, ends;
    double start, stop, tolerance, now, shown, goal, begun, length;
    double x[NX + 1], m[NM + 1], p[NP_ALL + 1], y[NY + 1];
} State;

typedef struct {
    char *block, *before;
    void *environment;
    void (*say)(void *instance, int failed, const char *text);
    void (*log)(void);
    char *name;
    int is_exchange;
    State s;
    double row[WIDTH + 1], held[2 * NM + 2], rates[NX + 1], levels[NG + 1], jacobian[NJ + 1], time;
    char text[400];
} Instance;

typedef struct {
    uint64_t key;
    uint64_t base; /* address of the block when it was saved */
    State s;
    char words[2][8 * (size_t)WORDS];
} Saved;

static double real_at(const char *block, size_t word)
{
    double value;
    memcpy(&value, block + 8 * word, 8);
    return value;
}

static void set_real(char *block, size_t word, double value)
{
    memcpy(block + 8 * word, &value, 8);
}

static int64_t whole_at(const char *block, size_t word)
{
    int64_t value;
    memcpy(&value, block + 8 * word, 8);
    return value;
}

static void set_whole(char *block, size_t word, int64_t value)
{
    memcpy(block + 8 * word, &value, 8);
}

static char *place_at(const char *block, size_t word)
{
    return (char *)(uintptr_t)(uint64_t)whole_at(block, word);
}

static void set_place(char *block, size_t word, void *place)
{
    fmu_store_ptr(block + 8 * word, place);
}

/* Say why a call fails; returns FAILED. */
static int refuse(Instance *c, const char *format, ...)
{
    const int length = snprintf(c->text, sizeof c->text, "t = %.9g s: ", c->s.start + c->s.now);
    va_list values;
    va_start(values, format);
    vsnprintf(c->text + length, sizeof c->text - (size_t)length, format, values);
    va_end(values);
    if (c->say)
        c->say(c, 1, c->text);
    return FAILED;
}

/* Return 1, and say so, if a function is called in a phase in which it may not be. */
static int out_of_order(Instance *c, int phases, const char *function)
{
    static const char *const names[] = {"before initialization", "in initialization mode", "in step mode", "in event mode",
                                        "in continuous-time mode", "after the end"};
    int k = 0;
    if (c->s.phase & phases)
        return 0;
    while (!(c->s.phase >> k & 1))
        k++;
    refuse(c, "%s cannot be called %s", function, names[k]);
    return 1;
}

static void load_start(Instance *c)
{
    memset(&c->s, 0, sizeof c->s);
    fmu_load(c->block);
    c->s.phase = MADE;
    c->s.tolerance = RTOL;
    c->s.start = START;
    memcpy(c->s.x, c->block + 8 * AT_X, 8 * NX);
    memcpy(c->s.m, c->block + 8 * AT_M, 8 * NM);
    memcpy(c->s.p, c->block + 8 * AT_P, 8 * NP_ALL);
}

static void free_instance(Instance *c)
{
    if (c) {
        free(c->block);
        free(c->before);
        free(c->name);
        free(c);
    }
}

static Instance *new_instance(const char *name, int is_exchange)
{
    Instance *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->block = malloc(8 * (size_t)WORDS);
    c->before = calloc(8, WORDS);
    c->name = calloc(1, strlen(name) + 1);
    if (!c->block || !c->before || !c->name) {
        free_instance(c);
        return NULL;
    }
    strcpy(c->name, name);
    c->is_exchange = is_exchange;
    load_start(c);
    return c;
}

/* Compute what the parameters alone decide. */
static void prepare(Instance *c)
{
#if HAS_PREPARE
    if (!c->s.prepared)
        fmu_k_prepare((char *)c->s.p, (char *)(c->s.p + NP));
#endif
    c->s.prepared = 1;
}

/* Time of the formulas: just before a break that is ahead, just after one that has passed. */
static double formula_time(const Instance *c)
{
    const double t = c->s.start + c->s.shown;
    if (c->s.phase & (MADE | SETUP))
        return t;
    const char *window = place_at(c->block, AT_C_WINDOW);
    return fmax(fmin(t, real_at(window, 1)), real_at(window, 0));
}

static double *outputs(Instance *c)
{
#if HAS_OUTPUTS
    if (!c->s.known) {
        double t = formula_time(c);
        prepare(c);
        fmu_k_outputs((char *)&t, (char *)c->s.x, (char *)c->s.p, (char *)c->s.m, (char *)c->s.y);
    }
#endif
    c->s.known = 1;
    return c->s.y;
}

static double *rates(Instance *c)
{
#if NX
    double t = formula_time(c);
    prepare(c);
    fmu_k_rates((char *)&t, (char *)c->s.x, (char *)c->s.p, (char *)c->s.m, (char *)c->rates);
#endif
    return c->rates;
}

/* Show states and modes at the time of the run. */
static void show(Instance *c)
{
    memcpy(c->s.x, place_at(c->block, AT_C_Y), 8 * NX);
    memcpy(c->s.m, place_at(c->block, AT_C_M), 8 * NM);
    c->s.known = 0;
}

/* Lend the run room for `samples` rows, one at most, at `c->time`. */
static void lend(Instance *c, int samples)
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

/* Judge a status of the run. */
static int judged(Instance *c, int64_t status)
{
#if HAS_EVENTS
    set_whole(c->block, AT_S_LOGGED, 0);
    set_whole(c->block, AT_S_EVENTS_LEFT, INT64_C(1) << 60);
#endif
    switch (status) {
    case STATUS_RETRY:
    case STATUS_PAUSE:
    case STATUS_LOG_FULL: return FINE;
    case STATUS_STOP: return AT_STOP;
    case STATUS_STIFF: return refuse(c, "the model has become stiff: export it with method=\"rodas5p\"");
    case STATUS_STEP_TOO_SMALL: return refuse(c, "the error of a step stays too large however small the step");
    case STATUS_NOT_FINITE: return refuse(c, "a rate is not finite");
    }
#if HAS_EVENTS
    if (status == STATUS_EVENT_ENDS) {
        const int64_t outcome = whole_at(c->block, AT_S_OUTCOME);
        show(c);
        c->s.now = c->s.shown = real_at(c->block, AT_C_T);
        refuse(c, "%s", reason(outcome));
        return outcome == OUTCOME_TERMINAL ? RUN_ENDS : FAILED;
    }
#endif
    return refuse(c, "the run ends with the status %d", (int)status);
}

/* Handle the event that waits, or carry out one tick, or attempt one step. */
static int advance(Instance *c)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    const double t = real_at(b, AT_C_T);
#if HAS_EVENTS
    if (c->s.pending) {
        c->s.pending = c->s.in_step = 0;
        return judged(c, sb_s_pass_event(table));
    }
#endif
    const int may_pass = whole_at(b, AT_C_FRESH) || whole_at(b, AT_C_IS_LANDING) || t + 1.05 * real_at(b, AT_C_H) >= c->s.goal;
    if (may_pass && !c->s.repeats)
        memcpy(c->before, b, 8 * (size_t)WORDS);
    if (HAS_CLOCKS && t >= c->s.goal && sb_s_has_tick(table))
        c->s.repeats = 1; /* inputs that are set at this point belong to the ticks there */
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
    return judged(c, status);
}

/* Multiply or set the numbers that follow from the start, the length and the tolerance of a run. */
static int fit_experiment(Instance *c)
{
    const double span = c->s.stop_given ? c->s.stop - c->s.start : SPAN;
    size_t k;
    if (!(span > 0.0))
        return refuse(c, "the stop time lies before the start");
    if (c->s.start != START) {
        if (!STARTS_MOVE)
            return refuse(c, "the model has times of its own: start at %.9g s, as it was exported", (double)START);
        for (k = 1; k < sizeof starts / sizeof *starts; k++)
            set_real(c->block, starts[k], c->s.start);
    }
    if (span != SPAN && SPANS_SCALE)
        for (k = 1; k < sizeof spans / sizeof *spans; k++)
            set_real(c->block, spans[k], real_at(c->block, spans[k]) * (span / SPAN));
    if (span > SPAN && !SPANS_SCALE)
        return refuse(c, "the model has times of its own, which are known for %.9g s from the start", (double)SPAN);
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
    lend(c, 0);
    show(c);
    return FINE;
}

/* Go back to the present point, if the run is ahead, and before the ticks there; go on with the new parameters. */
static int take_changes(Instance *c)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    int status = FINE;
    if (real_at(b, AT_C_T) > c->s.shown) {
        memcpy(b, c->before, 8 * (size_t)WORDS);
        const double stop = real_at(b, AT_C_STOP);
        c->s.pending = c->s.in_step = 0;
        c->s.goal = HUGE_VAL;
        lend(c, 0);
        set_real(b, AT_C_STOP, c->s.shown);
        while (status == FINE && (real_at(b, AT_C_T) < c->s.shown || c->s.pending))
            status = advance(c);
        set_real(b, AT_C_STOP, stop);
        if (status == FAILED || status == RUN_ENDS)
            return status;
    } else if (c->s.repeats)
        memcpy(b, c->before, 8 * (size_t)WORDS);
    prepare(c);
    lend(c, 0);
    c->s.changed = c->s.in_step = 0;
    status = judged(c, sb_s_resume(table, (char *)c->s.p, NP_ALL));
    while (HAS_CLOCKS && c->s.repeats && status == FINE && (c->s.pending || sb_s_has_tick(table)))
        status = advance(c);
    show(c);
    return status;
}

/* Show the run at a time within the step that it has taken last. */
static void show_within(Instance *c, double t)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    /* the copy's addresses are those of the block */
    const char *y = c->before + (place_at(c->before, AT_C_Y) - b);
    sb_s_look_within(table, (char *)y, (t - c->s.begun) / c->s.length, (char *)c->row);
    memcpy(c->s.x, c->row, 8 * NX);
    memcpy(c->s.m, place_at(b, AT_C_M), 8 * NM);
    c->s.known = 0;
}

/* Reach a communication point. The run takes its own steps, the last one beyond the point; ticks and events at the point
 * belong to it. A point beyond the stop time by no more than `slack` is the stop time: importers add up steps. */
static int reach(Instance *c, double t, double slack)
{
    char *b = c->block, *table = b + 8 * (size_t)AT_C;
    int status = c->s.changed ? take_changes(c) : FINE;
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
            return refuse(c, "the model has times of its own, which are known for %.9g s from the start", (double)SPAN);
        set_real(b, AT_C_STOP, t + SPAN);
    }
    lend(c, 1);
    c->time = t;
    if (real_at(b, AT_C_T) > t && c->s.in_step) {
        show_within(c, t);
        c->s.now = c->s.shown = t;
        return FINE;
    }
    while (whole_at(b, AT_C_WRITTEN) < 1 && status == FINE) {
#if HAS_CLOCKS
        const double first = sb_s_due(table), size = fmax(fabs(c->time), fabs(first));
        if (isfinite(first) && fabs(first - c->time) <= SAME_TIME * size)
            c->time = first;
        if (c->time > real_at(b, AT_C_STOP)) /* by rounding */
            set_real(b, AT_C_STOP, c->time);
#endif
        c->s.goal = c->time;
        status = advance(c);
    }
    if (status == FAILED || status == RUN_ENDS)
        return status;
    if (whole_at(b, AT_C_WRITTEN) < 1)
        return refuse(c, "the communication point was not reached");
    c->s.now = t;
    c->s.shown = c->time;
    if (real_at(b, AT_C_T) > c->time) {
        memcpy(c->s.x, c->row, 8 * NX);
        memcpy(c->s.m, place_at(b, AT_C_M), 8 * NM);
        c->s.known = 0;
        return FINE;
    }
    status = FINE;
    while (status == FINE && (c->s.pending || (HAS_CLOCKS && sb_s_has_tick(table))))
        status = advance(c);
    if (status == FAILED || status == RUN_ENDS)
        return status;
    show(c);
    return FINE;
}

/* Reach the end of a step from a communication point. */
static int take_step(Instance *c, double from, double length)
{
    const double since = from - c->s.start, slack = 1e-6 * length + 1e-14 * (fabs(c->s.start) + fabs(c->s.now));
    if (!isfinite(from) || !(length > 0.0) || !isfinite(length))
        return refuse(c, "a step from %.17g s of length %.17g s is not forward in time", from, length);
    if (fabs(since - c->s.now) > slack)
        return refuse(c, "a step begins at %.17g s, where the instance is not", from);
    return reach(c, from + length - c->s.start, slack);
}

/* Return the number of values of a reference, 0 for an unknown one, and where they begin among those of their kind. */
static size_t values_of(uint32_t reference, int *kind, size_t *first)
{
    static const size_t counts[] = {1, NX, NX, NP, NY, NM, NG};
    *kind = (int)(reference >> 24);
    *first = reference & 0xFFFFFF;
    if (*kind >= KINDS || (*kind == 0 && *first > 0) || (*kind == RATE && !HAS_EXCHANGE) || *first >= counts[*kind])
        return 0;
    return BY_ELEMENT ? 1 : size_of_reference(reference);
}

static const double *indicators(Instance *c);

/* Read the values of references; `whole` for integers, which only modes are. */
static int get_values(Instance *c, const uint32_t *references, size_t count, double *values, size_t room, int whole)
{
    size_t written = 0;
    if (c->s.changed && c->s.repeats && take_changes(c))
        return FAILED;
    for (size_t k = 0; k < count; k++) {
        size_t first;
        int kind;
        const size_t size = values_of(references[k], &kind, &first);
        const double *from = NULL, t = c->s.start + c->s.now;
        if (!size || (kind == MODE) != whole)
            return refuse(c, "there is no %s with the value reference %u", whole ? "mode" : "real value", references[k]);
        if (size > room - written)
            return refuse(c, "there is no room for the values of reference %u", references[k]);
        switch (kind) {
        case 0: from = &t; break;
        case STATE: from = c->s.x; break;
        case RATE: from = rates(c); break;
        case PARAMETER: from = c->s.p; break;
        case OUTPUT: from = outputs(c); break;
        case MODE: from = c->s.m; break;
        default: from = indicators(c); break;
        }
        memcpy(values + written, from + first, 8 * size);
        written += size;
    }
    return written == room ? FINE : refuse(c, "%zu values are asked for, and the references have %zu", room, written);
}

static int is_listed(const uint32_t *list, size_t length, size_t index)
{
    for (size_t k = 1; k < length; k++)
        if (list[k] == index)
            return 1;
    return 0;
}

/* Set the values of references. */
static int set_values(Instance *c, const uint32_t *references, size_t count, const double *values, size_t given, int whole)
{
    size_t read = 0;
    for (size_t k = 0; k < count; k++) {
        size_t first;
        int kind;
        const size_t size = values_of(references[k], &kind, &first);
        double *to = kind == STATE ? c->s.x : kind == PARAMETER ? c->s.p : c->s.m;
        if (!size || (kind == MODE) != whole || (kind != STATE && kind != PARAMETER && kind != MODE))
            return refuse(c, "the value reference %u cannot be set", references[k]);
        if (size > given - read)
            return refuse(c, "there are too few values for reference %u", references[k]);
        if (kind != PARAMETER && c->s.phase & ~(MADE | SETUP))
            return refuse(c, "start values cannot be set after initialization (value reference %u)", references[k]);
        for (size_t i = 0; i < size; i++) {
            const double value = values[read + i];
            if (!isfinite(value))
                return refuse(c, "a value for reference %u is not finite", references[k]);
            if (kind == PARAMETER && is_listed(fixed, sizeof fixed / sizeof *fixed, first + i))
                return refuse(c, "value reference %u is a constant: it decides clocks or start values", references[k]);
            if (kind == MODE && !(value >= 0.0 && value < mode_counts[first + i]))
                return refuse(c, "mode %u has no state %.17g", references[k], value);
            if (to[first + i] != value || signbit(to[first + i]) != signbit(value)) {
                to[first + i] = value;
                c->s.known = 0;
                if (kind == PARAMETER) {
                    c->s.prepared = 0;
                    c->s.changed = 1;
                }
            }
        }
        read += size;
    }
    return read == given ? FINE : refuse(c, "%zu values are given, and the references have %zu", given, read);
}

/* States that are saved. */
static int save(Instance *c, void **state)
{
    Saved *saved = *state ? *state : malloc(sizeof *saved);
    if (!saved)
        return refuse(c, "there is no memory for a state");
    *state = saved;
    saved->key = KEY;
    saved->base = (uint64_t)(uintptr_t)c->block;
    saved->s = c->s;
    memcpy(saved->words[0], c->block, sizeof saved->words[0]);
    memcpy(saved->words[1], c->before, sizeof saved->words[1]);
    return FINE;
}

/* Move the places of a block that was at `base`. */
static void moved(char *words, uint64_t base, const char *block)
{
    for (size_t k = 0; k < sizeof pointers / sizeof *pointers; k++) {
        const uint64_t place = (uint64_t)whole_at(words, pointers[k]);
        if (place >= base && place <= base + 8 * (uint64_t)WORDS)
            set_whole(words, pointers[k], (int64_t)((uint64_t)(uintptr_t)block + (place - base)));
    }
    for (size_t k = 0; k < sizeof fmu_calls / sizeof *fmu_calls; k++)
        set_whole(words, fmu_calls[k][0], (int64_t)(uintptr_t)fmu_functions[fmu_calls[k][1]]);
}

static int restore(Instance *c, const void *state)
{
    const Saved *saved = state;
    if (!saved || saved->key != KEY)
        return refuse(c, "this is no state of this model");
    c->s = saved->s;
    memcpy(c->block, saved->words[0], sizeof saved->words[0]);
    memcpy(c->before, saved->words[1], sizeof saved->words[1]);
    moved(c->block, saved->base, c->block);
    moved(c->before, saved->base, c->block);
#if HAS_EVENTS
    set_place(c->block, AT_S_ALL_HELD, c->held);
    set_place(c->before, AT_S_ALL_HELD, c->held);
#endif
    lend(c, 0);
    return FINE;
}

static int serialize(Instance *c, const void *state, void *bytes, size_t room)
{
    if (!state || room < sizeof(Saved))
        return refuse(c, "a state has %zu bytes", sizeof(Saved));
    memcpy(bytes, state, sizeof(Saved));
    return FINE;
}

static int deserialize(Instance *c, const void *bytes, size_t count, void **state)
{
    uint64_t key = 0;
    if (count == sizeof(Saved))
        memcpy(&key, bytes, sizeof key);
    if (key != KEY)
        return refuse(c, "these bytes are no state of this model");
    if (!*state)
        *state = malloc(sizeof(Saved));
    if (!*state)
        return refuse(c, "there is no memory for a state");
    memcpy(*state, bytes, sizeof(Saved));
    return FINE;
}

/* Take the times and the tolerance of an experiment. */
static int set_up(Instance *c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    if (!isfinite(start) || (has_stop && !isfinite(stop)))
        return refuse(c, "the start or the stop time is not finite");
    if (has_stop && !(stop > start))
        return refuse(c, "the stop time, %.9g s, is not after the start, %.9g s", stop, start);
    if (has_tolerance && !(tolerance > 0.0 && isfinite(tolerance)))
        return refuse(c, "the tolerance is not positive");
    c->s.start = start;
    c->s.stop_given = has_stop;
    c->s.stop = stop;
    c->s.tolerance = !has_tolerance ? RTOL : tolerance < LEAST_RTOL ? LEAST_RTOL : tolerance;
    c->s.phase = SETUP;
    c->s.known = 0;
    return FINE;
}

/* Begin the run, and the phase after initialization. */
static int begin_phase(Instance *c)
{
    if (begin(c))
        return FAILED;
    c->s.phase = c->is_exchange ? EVENTS : STEPPING;
    return FINE;
}

static int copy(Instance *c, double *values, size_t room, const double *from, size_t count)
{
    if (room != count)
        return refuse(c, "%zu values are asked for, and there are %zu", room, count);
    memcpy(values, from, 8 * count);
    return FINE;
}
