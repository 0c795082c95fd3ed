/* Values of an instance: states, parameters, modes and the values computed from them, by value reference. */

/* Compute the values that depend only on parameters. */
static void prepare(Instance *c)
{
#if HAS_PREPARE
    if (!c->s.prepared)
        fmu_k_prepare((char *)c->s.p, (char *)(c->s.p + NP));
#endif
    c->s.prepared = 1;
}

/* Time at which formulas are evaluated: just before an upcoming time event, just after a past one. */
static double formula_time(const Instance *c)
{
    const double t = c->s.start + c->s.shown;
    if (c->s.phase & (MADE | SETUP))
        return t;
    const char *window = place_at(c->block, AT_C_WINDOW);
    return fmax(fmin(t, real_at(window, 1)), real_at(window, 0));
}

/* States at which formulas are evaluated; NULL if a loop has no solution. Loops are solved if the importer has changed states or
 * inputs, from the last solution if it integrates, because its guesses do not follow its inputs. */
static double *solved_states(Instance *c)
{
#if HAS_LOOPS
    const int before = c->s.phase & (MADE | SETUP), moves = !before && c->s.kind & EXCHANGE;
    char *b = c->block, *p = b + 8 * (size_t)AT_P, *window = place_at(b, AT_C_WINDOW);
    if (before || moves || c->s.changed) {
        double last[NX + 1], times[2];
        memcpy(last, c->s.solved, 8 * NX);
        memcpy(c->s.solved, c->s.x, 8 * NX);
        for (size_t k = 1; moves && k < sizeof guesses / sizeof *guesses; k++)
            c->s.solved[guesses[k]] = last[guesses[k]];
        prepare(c);
        memcpy(c->kept, p, 8 * NP_ALL);
        memcpy(times, window, 16);
        const double now = formula_time(c);
        memcpy(p, c->s.p, 8 * NP_ALL);
        set_real(window, 0, now);
        set_real(window, 1, now);
        const int64_t done = sb_s_solve_loops(b + 8 * (size_t)AT_C, now, (char *)c->s.solved, (char *)c->s.m);
        memcpy(p, c->kept, 8 * NP_ALL);
        memcpy(window, times, 16);
        if (done)
            return c->s.solved;
        refuse(c, "an algebraic loop has no solution");
        memcpy(c->s.solved, last, 8 * NX);
        return NULL;
    }
#endif
    return c->s.x;
}

static double *outputs(Instance *c)
{
#if HAS_OUTPUTS
    if (!c->s.known) {
        double t = formula_time(c), *x = solved_states(c);
        if (!x)
            return NULL;
        prepare(c);
        fmu_k_outputs((char *)&t, (char *)x, (char *)c->s.p, (char *)c->s.m, (char *)c->s.y);
    }
#endif
    c->s.known = 1;
    return c->s.y;
}

static double *rates(Instance *c)
{
#if NX
    double t = formula_time(c), *x = solved_states(c);
    if (!x)
        return NULL;
    prepare(c);
    fmu_k_rates((char *)&t, (char *)x, (char *)c->s.p, (char *)c->s.m, (char *)c->rates);
#endif
    return c->rates;
}

/* Show states and modes at the time of the run. */
static void show(Instance *c)
{
    memcpy(c->s.x, place_at(c->block, AT_C_Y), 8 * NX);
    memcpy(c->s.m, place_at(c->block, AT_C_M), 8 * NM);
    memcpy(c->s.solved, c->s.x, 8 * NX);
    c->s.known = 0;
}

static const double *indicators(Instance *c)
{
#if NG
    double t = formula_time(c), *x = solved_states(c);
    const char *levels = place_at(c->block, AT_C_LEVELS);
    if (!x)
        return NULL;
    prepare(c);
    fmu_k_guards((char *)&t, (char *)x, (char *)c->s.p, (char *)c->s.m, (char *)c->levels);
    for (size_t k = 0; k < NG; k++)
        c->levels[k] -= real_at(levels, k);
#endif
    return c->levels;
}

/* Return the number of values of a reference, 0 if it is unknown, and the index of the first among the values of its kind. */
static size_t values_of(uint32_t reference, int *kind, size_t *first)
{
    static const size_t counts[] = {1, NX, NX, NP, NY, NM, NG};
    *kind = (int)(reference >> 24);
    *first = reference & 0xFFFFFF;
    if (*kind >= KINDS || (*kind == 0 && *first > 0) || (*kind == RATE && !HAS_EXCHANGE) || *first >= counts[*kind])
        return 0;
    return BY_ELEMENT ? 1 : size_of_reference(reference);
}

static int take_changes(Instance *c);

/* Read the values of references; `whole` for integers, which only modes are. */
static int get_values(Instance *c, const uint32_t *references, size_t count, double *values, size_t capacity, int whole)
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
        if (size > capacity - written)
            return refuse(c, "there is not enough space for the values of reference %u", references[k]);
        switch (kind) {
        case 0: from = &t; break;
        case STATE: from = c->s.x; break;
        case RATE: from = rates(c); break;
        case PARAMETER: from = c->s.p; break;
        case OUTPUT: from = outputs(c); break;
        case MODE: from = c->s.m; break;
        default: from = indicators(c); break;
        }
        if (!from)
            return FAILED;
        memcpy(values + written, from + first, 8 * size);
        written += size;
    }
    return written == capacity ? FINE : refuse(c, "%zu values are requested, but the references have %zu", capacity, written);
}

#if BY_ELEMENT
typedef int Whole;
#else
typedef int64_t Whole;
#endif

static int get_wholes(Instance *c, const uint32_t *references, size_t count, Whole *values, size_t capacity)
{
    double value = 0.0;
    if (count != capacity)
        return refuse(c, "%zu values are requested, but the references have %zu", capacity, count);
    for (size_t k = 0; k < count; k++) {
        if (get_values(c, references + k, 1, &value, 1, 1))
            return FAILED;
        values[k] = (Whole)value;
    }
    return FINE;
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
            if (kind == PARAMETER && why_constant(first + i))
                return refuse(c, "%s", why_constant(first + i));
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
    return read == given ? FINE : refuse(c, "%zu values are given, but the references have %zu", given, read);
}

static int set_wholes(Instance *c, const uint32_t *references, size_t count, const Whole *values, size_t given)
{
    if (count != given)
        return refuse(c, "%zu values are given, but the references have %zu", given, count);
    for (size_t k = 0; k < count; k++) {
        const double value = (double)values[k];
        if (set_values(c, references + k, 1, &value, 1, 1))
            return FAILED;
    }
    return FINE;
}

static int copy(Instance *c, double *values, size_t capacity, const double *from, size_t count)
{
    if (capacity != count)
        return refuse(c, "%zu values are requested, but there are %zu", capacity, count);
    if (!from)
        return FAILED;
    memcpy(values, from, 8 * count);
    return FINE;
}
