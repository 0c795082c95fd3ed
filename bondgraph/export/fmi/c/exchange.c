/* Model exchange: the importer integrates, and the model handles events. */

/* Copy parameters, states and modes of the instance to the run. */
static int enter_values(Instance *c)
{
    const double *x = solved_states(c);
    if (!x)
        return FAILED;
    prepare(c);
    memcpy(c->block + 8 * AT_P, c->s.p, 8 * NP_ALL);
    memcpy(place_at(c->block, AT_C_Y), x, 8 * NX);
    memcpy(place_at(c->block, AT_C_M), c->s.m, 8 * NM);
    give_rows(c, 0);
    return FINE;
}

/* Carry out the ticks and events at the current time; `next` is the time of the next tick, s, or infinite. */
static int update(Instance *c, int *jumps, double *next)
{
    char *table = c->block + 8 * (size_t)AT_C;
    double x[NX + 1];
    memcpy(x, c->s.x, 8 * NX);
    if (enter_values(c))
        return FAILED;
    const int status = result_of_status(c, sb_s_settle_at(table, c->s.now));
    show(c);
    *jumps = memcmp(x, c->s.x, 8 * NX) != 0;
    *next = c->s.start + (HAS_CLOCKS ? sb_s_due(table) : HUGE_VAL);
    return status;
}

/* The importer has completed a step. */
static int complete_step(Instance *c)
{
    if (enter_values(c))
        return FAILED;
    sb_s_see_step(c->block + 8 * (size_t)AT_C, c->s.now, place_at(c->block, AT_C_Y));
    return FINE;
}

static int set_time(Instance *c, double time)
{
    if (!isfinite(time) || time < c->s.start)
        return refuse(c, "the time %.17g s is not finite, or is before the start", time);
    c->s.now = c->s.shown = time - c->s.start;
    c->s.known = 0;
    return FINE;
}

static int set_states(Instance *c, const double *states, size_t count)
{
    if (count != NX)
        return refuse(c, "%zu states are given, but there are %d", count, NX);
    for (size_t k = 0; k < count; k++)
        if (!isfinite(states[k]))
            return refuse(c, "state %zu is not finite", k + 1);
    memcpy(c->s.x, states, 8 * NX);
    c->s.known = 0;
    return FINE;
}

/* Row of an unknown among rates, values and states, or column of a known among states and inputs; -1 for other references. */
static int row_of(uint32_t reference)
{
    size_t first;
    int kind;
    if (!values_of(reference, &kind, &first))
        return -1;
    return kind == RATE ? (int)first : kind == OUTPUT ? NX + (int)first : kind == STATE ? NX + NY + (int)first : -1;
}

static int column_of(uint32_t reference)
{
    size_t first;
    int kind;
    if (!values_of(reference, &kind, &first))
        return -1;
    if (kind == PARAMETER)
        for (size_t k = 1; k < sizeof inputs / sizeof *inputs; k++)
            if (inputs[k] == first)
                return NX + (int)k - 1;
    return kind == STATE ? (int)first : -1;
}

/* Derivatives of unknowns with respect to knowns, times a seed, or transposed if `is_adjoint`.
 * A reference stands for all its values. */
static int derivative(Instance *c, const uint32_t *unknowns, size_t unknown_count, const uint32_t *knowns, size_t known_count,
                      const double *seed, size_t seeds, double *values, size_t capacity, int is_adjoint)
{
    double t = formula_time(c), *x = solved_states(c);
    size_t rows = 0, columns = 0;
    for (size_t i = 0; i < unknown_count; i++) {
        const int row = row_of(unknowns[i]);
        if (row < 0)
            return refuse(c, "there are no derivatives of value reference %u", unknowns[i]);
        rows += BY_ELEMENT ? 1 : size_of_reference(unknowns[i]);
    }
    for (size_t j = 0; j < known_count; j++) {
        if (column_of(knowns[j]) < 0)
            return refuse(c, "there are no derivatives with respect to value reference %u", knowns[j]);
        columns += BY_ELEMENT ? 1 : size_of_reference(knowns[j]);
    }
    if (seeds != (is_adjoint ? rows : columns) || capacity != (is_adjoint ? columns : rows))
        return refuse(c, "the derivative of %zu values by %zu has a different size", rows, columns);
    if (!x)
        return FAILED;
    memset(values, 0, 8 * capacity);
    prepare(c);
#if NJ
    fmu_k_partials((char *)&t, (char *)x, (char *)c->s.p, (char *)c->s.m, (char *)c->jacobian);
    for (size_t i = 0, u = 0; i < unknown_count; i++)
        for (size_t k = 0; k < (BY_ELEMENT ? 1 : size_of_reference(unknowns[i])); k++, u++) {
            const uint32_t row = (uint32_t)row_of(unknowns[i]) + (uint32_t)k;
            for (size_t j = 0, v = 0; j < known_count; j++)
                for (size_t l = 0; l < (BY_ELEMENT ? 1 : size_of_reference(knowns[j])); l++, v++) {
                    const size_t column = (size_t)column_of(knowns[j]) + l;
                    for (uint32_t e = columns_at[column]; e < columns_at[column + 1]; e++)
                        if (entry_rows[e] == row)
                            values[is_adjoint ? v : u] += c->jacobian[e] * seed[is_adjoint ? u : v];
                }
        }
#else
    (void)t;
#endif
    return FINE;
}
