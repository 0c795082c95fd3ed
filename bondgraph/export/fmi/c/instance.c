/* An instance of the model: the run as one block of words, in its current state and before the step that reaches beyond the
 * current communication point. Times count from the start of the run, in s. */
enum { MADE = 1, SETUP = 2, STEPPING = 4, EVENTS = 8, CONTINUOUS = 16, ENDED = 32 };
enum { EXCHANGE = 1, EVENT_MODE = 2 };
enum { FINE, FAILED, AT_STOP, RUN_ENDS, DISCARDED };
enum { FROM_START = 2 }; /* value of `repeats`: new inputs at the current point repeat the start, not only its ticks */
enum { STATE = 1, RATE, PARAMETER, OUTPUT, MODE, INDICATOR, KINDS };

/* Content of a saved state in addition to the two blocks. */
typedef struct {
    int kind, phase, stop_given, changed, pending, in_step, repeats, prepared, known, over;
    double start, stop, tolerance, now, shown, goal, begun, length;
    double x[NX + 1], m[NM + 1], p[NP_ALL + 1], y[NY + 1], solved[NX + 1];
} State;

typedef struct {
    char *block, *before;
    void *environment;
    void (*log_message)(void *instance, int failed, const char *text);
    void (*log)(void);
    char *name;
    int returns_early, early;
    State s;
    double row[WIDTH + 1], held[2 * NM + 2], rates[NX + 1], levels[NG + 1], jacobian[NJ + 1], kept[NP_ALL + 1], time;
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

/* Report why a call fails; return FAILED. */
static int refuse(Instance *c, const char *format, ...)
{
    const int length = snprintf(c->text, sizeof c->text, "t = %.9g s: ", c->s.start + c->s.now);
    va_list values;
    va_start(values, format);
    vsnprintf(c->text + length, sizeof c->text - (size_t)length, format, values);
    va_end(values);
    if (c->log_message)
        c->log_message(c, 1, c->text);
    return FAILED;
}

/* Return 1, and log it, if a function is not allowed in the current phase. */
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
    const int kind = c->s.kind;
    memset(&c->s, 0, sizeof c->s);
    fmu_load(c->block);
    c->s.kind = kind;
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

/* Return a new instance of a kind; if that fails, log why and return NULL. */
static Instance *new_instance(const char *name, const char *token, int kind, const char **why)
{
    const int offered = kind & EXCHANGE ? HAS_EXCHANGE : HAS_COSIMULATION;
    Instance *c = calloc(1, sizeof *c);
    *why = !name || (BY_ELEMENT && !*name)      ? "an instance has no name"
           : !token || strcmp(token, TOKEN) != 0 ? "the token, or GUID, belongs to another unit"
           : !offered                            ? "the model was not exported for this interface type"
                                                 : NULL;
    if (c && !*why) {
        c->block = malloc(8 * (size_t)WORDS);
        c->before = calloc(8, WORDS);
        c->name = calloc(1, strlen(name) + 1);
    }
    if (!c || !c->block || !c->before || !c->name) {
        free_instance(c);
        *why = *why ? *why : "there is not enough memory for an instance";
        return NULL;
    }
    strcpy(c->name, name);
    c->s.kind = kind;
    load_start(c);
    return c;
}

/* Store the times and the tolerance of an experiment. */
static int set_up(Instance *c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    if (!isfinite(start) || (has_stop && !isfinite(stop)))
        return refuse(c, "the start or the stop time is not finite");
    if (has_stop && !(stop > start))
        return refuse(c, "the stop time, %.9g s, is not after the start, %.9g s", stop, start);
    if (has_tolerance && !(tolerance > 0.0 && isfinite(tolerance)))
        return refuse(c, "the tolerance is not positive and finite");
    c->s.start = start;
    c->s.stop_given = has_stop;
    c->s.stop = stop;
    c->s.tolerance = !has_tolerance ? RTOL : tolerance < LEAST_RTOL ? LEAST_RTOL : tolerance;
    c->s.phase = SETUP;
    c->s.known = 0;
    return FINE;
}
