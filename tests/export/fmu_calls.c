/* All functions of FMI 2.0 or 3.0, in order, out of order and with values that they cannot take, on the model of test_fmu.py;
 * prints what is wrong. Arguments: the index of a parameter, and the number of tiny steps. */
#include "model.c"

static int said, before, wrong;

static void check(int holds, int line, const char *what)
{
    if (!holds)
        wrong++, printf("line %d: %s\n", line, what);
}

/* A call that has to fail and to say why; one that has to succeed; one that may do either. */
#define BAD(call) (before = said, check((call) == fmiError && said > before, __LINE__, "no error, or no reason"))
#define GOOD(call) check((call) == fmiOK, __LINE__, "an error")
#define EITHER(call) (before = said, check((call) == fmiOK || said > before, __LINE__, "an error without a reason"))
#define TRUE(condition) check(condition, __LINE__, #condition)

static const uint32_t state = STATE << 24, rate = RATE << 24, mode = MODE << 24, unknown = 200u << 24;
static uint32_t inertia;
static double number;
static size_t size;

#if BY_ELEMENT
#define F(name) fmi2##name
#define fmi2GetFMUState fmi2GetFMUstate
#define fmi2SetFMUState fmi2SetFMUstate
#define fmi2FreeFMUState fmi2FreeFMUstate
#define fmi2SerializedFMUStateSize fmi2SerializedFMUstateSize
#define fmi2SerializeFMUState fmi2SerializeFMUstate
#define fmi2DeserializeFMUState fmi2DeSerializeFMUstate
#define NOTHING_OF(Get, Set, type) \
    GOOD(fmi2##Get(one, &state, 0, (type[1]){0})), BAD(fmi2##Get(one, &state, 1, (type[1]){0})); \
    GOOD(fmi2##Set(one, &state, 0, (type[1]){0})), BAD(fmi2##Set(one, &state, 1, (type[1]){0}))

static void hear(void *environment, const char *name, Status status, const char *category, const char *text, ...)
{
    said += environment == &said && name && status == fmiError && category && text;
}

static void *made(int kind, const char *token)
{
    const fmi2CallbackFunctions callbacks = {hear, NULL, NULL, NULL, &said};
    return fmi2Instantiate("one", kind & EXCHANGE ? fmi2ModelExchange : fmi2CoSimulation, token, NULL, &callbacks, 0, 0);
}

static Status started(void *one, int has_tolerance, double tolerance, double start, double stop)
{
    const Status status = fmi2SetupExperiment(one, has_tolerance, tolerance, start, 1, stop);
    return status ? status : fmi2EnterInitializationMode(one);
}

static Status step(void *one, double from, double length)
{
    return fmi2DoStep(one, from, length, 1);
}

static Status updated(void *one, Boolean *has_next, double *next)
{
    fmi2EventInfo info = {0};
    const Status status = fmi2NewDiscreteStates(one, &info);
    *has_next = info.nextEventTimeDefined, *next = info.nextEventTime;
    return status;
}

static void calls_of_version(void *one)
{
    int whole;
    Status status;
    const char *text;
    NOTHING_OF(GetBoolean, SetBoolean, int);
    NOTHING_OF(GetString, SetString, const char *);
    GOOD(fmi2SetRealInputDerivatives(one, NULL, 0, NULL, NULL));
    BAD(fmi2SetRealInputDerivatives(one, &state, 1, NULL, &number));
    BAD(fmi2GetRealOutputDerivatives(one, &state, 1, NULL, &number));
    BAD(fmi2CancelStep(one));
    TRUE(fmi2GetStatus(one, fmi2DoStepStatus, &status) == fmiDiscard && fmi2GetRealStatus(one, 0, &number) == fmiDiscard);
    TRUE(fmi2GetIntegerStatus(one, 0, &whole) == fmiDiscard && fmi2GetStringStatus(one, 0, &text) == fmiDiscard);
    GOOD(fmi2GetRealStatus(one, fmi2LastSuccessfulTime, &number));
    GOOD(fmi2GetBooleanStatus(one, fmi2Terminated, &whole));
    TRUE(!strcmp(fmi2GetVersion(), "2.0") && !strcmp(fmi2GetTypesPlatform(), "default"));
    BAD(fmi2SetupExperiment(one, 0, 0.0, 0.0, 0, 0.0));
    BAD(fmi2EnterEventMode(one));
    GOOD(fmi2GetDirectionalDerivative(one, &rate, 1, &state, 1, (double[]){1.0}, &number));
    BAD(fmi2GetDirectionalDerivative(one, &inertia, 1, &state, 1, (double[]){1.0}, &number));
    BAD(fmi2GetDirectionalDerivative(one, &rate, 1, &unknown, 1, (double[]){1.0}, &number));
}
#else
#define F(name) fmi3##name
#define fmi3GetDerivatives fmi3GetContinuousStateDerivatives
#define NOTHING(Name, n, ...) GOOD(fmi3##Name(one, &state, 0, ##__VA_ARGS__)), BAD(fmi3##Name(one, &state, n, ##__VA_ARGS__))
#define NOTHING_OF(type, c_type) \
    NOTHING(Get##type, 1, (c_type[1]){0}, 0); \
    NOTHING(Set##type, 1, (c_type[1]){0}, 0)

static void hear(void *environment, Status status, const char *category, const char *text)
{
    said += environment == &said && status == fmiError && category && text;
}

static void *made(int kind, const char *token)
{
    if (kind & EXCHANGE)
        return fmi3InstantiateModelExchange("one", token, NULL, false, false, &said, hear);
    return fmi3InstantiateCoSimulation("one", token, NULL, false, false, kind & EVENT_MODE, true, NULL, 0, &said, hear, NULL);
}

static Status started(void *one, int has_tolerance, double tolerance, double start, double stop)
{
    return fmi3EnterInitializationMode(one, has_tolerance, tolerance, start, true, stop);
}

static Status step(void *one, double from, double length)
{
    bool event = false, ends = false, early = false;
    double last;
    const Status status = fmi3DoStep(one, from, length, true, &event, &ends, &early, &last);
    TRUE(!event && !early);
    return status;
}

static Status updated(void *one, Boolean *has_next, double *next)
{
    bool again = false, ends = false, nominals = false, values = false;
    return fmi3UpdateDiscreteStates(one, &again, &ends, &nominals, &values, has_next, next);
}

static void calls_of_version(void *one)
{
    NOTHING_OF(Float32, float);
    NOTHING_OF(Int8, int8_t);
    NOTHING_OF(UInt8, uint8_t);
    NOTHING_OF(Int16, int16_t);
    NOTHING_OF(UInt16, uint16_t);
    NOTHING_OF(Int32, int32_t);
    NOTHING_OF(UInt32, uint32_t);
    NOTHING_OF(UInt64, uint64_t);
    NOTHING_OF(Boolean, bool);
    NOTHING_OF(String, char *);
    NOTHING(GetBinary, 1, NULL, NULL, 0);
    NOTHING(SetBinary, 1, NULL, NULL, 0);
    NOTHING(GetClock, 1, NULL);
    NOTHING(SetClock, 1, NULL);
    NOTHING(GetIntervalDecimal, 1, NULL, NULL);
    NOTHING(GetIntervalFraction, 1, NULL, NULL, NULL);
    NOTHING(GetShiftDecimal, 1, NULL);
    NOTHING(GetShiftFraction, 1, NULL, NULL);
    NOTHING(SetIntervalDecimal, 1, NULL);
    NOTHING(SetIntervalFraction, 1, NULL, NULL);
    NOTHING(SetShiftDecimal, 1, NULL);
    NOTHING(SetShiftFraction, 1, NULL, NULL);
    NOTHING(GetOutputDerivatives, 1, NULL, NULL, 0);
    BAD(fmi3ActivateModelPartition(one, 0, 0.0));
    BAD(fmi3GetNumberOfVariableDependencies(one, state, &size));
    BAD(fmi3GetVariableDependencies(one, state, NULL, NULL, NULL, NULL, 0));
    GOOD(fmi3GetNumberOfContinuousStates(one, &size));
    TRUE(size == NX);
    GOOD(fmi3GetNumberOfEventIndicators(one, &size));
    TRUE(size == NG && !strcmp(fmi3GetVersion(), "3.0"));
    BAD(fmi3EnterConfigurationMode(one));
    BAD(fmi3ExitConfigurationMode(one));
    BAD(fmi3EvaluateDiscreteStates(one));
    BAD(fmi3EnterStepMode(one));
    BAD(fmi3EnterEventMode(one));
    BAD(fmi3GetFloat64(one, &state, 1, &number, 0));
    BAD(fmi3GetFloat64(one, &state, 1, &number, 2));
    BAD(fmi3SetFloat64(one, &inertia, 1, &number, 0));
    BAD(fmi3SetInt64(one, &mode, 1, NULL, 0));
    GOOD(fmi3GetAdjointDerivative(one, &rate, 1, &state, 1, (double[]){1.0}, 1, &number, 1));
    GOOD(fmi3GetDirectionalDerivative(one, &rate, 1, &state, 1, (double[]){1.0}, 1, &number, 1));
    BAD(fmi3GetDirectionalDerivative(one, &rate, 1, &state, 1, (double[]){1.0}, 2, &number, 1));
    before = said;
    TRUE(!fmi3InstantiateScheduledExecution("one", TOKEN, NULL, false, false, &said, hear, NULL, NULL, NULL) && said > before);
}
#endif

static Status get(void *one, uint32_t reference, double *value)
{
#if BY_ELEMENT
    return fmi2GetReal(one, &reference, 1, value);
#else
    return fmi3GetFloat64(one, &reference, 1, value, 1);
#endif
}

static Status set(void *one, uint32_t reference, double value)
{
#if BY_ELEMENT
    return fmi2SetReal(one, &reference, 1, &value);
#else
    return fmi3SetFloat64(one, &reference, 1, &value, 1);
#endif
}

static Status set_mode(void *one, Whole value)
{
#if BY_ELEMENT
    return fmi2SetInteger(one, &mode, 1, &value);
#else
    return fmi3SetInt64(one, &mode, 1, &value, 1);
#endif
}

static Whole mode_of(void *one)
{
    Whole value = -1;
#if BY_ELEMENT
    GOOD(fmi2GetInteger(one, &mode, 1, &value));
#else
    GOOD(fmi3GetInt64(one, &mode, 1, &value, 1));
#endif
    return value;
}

static void *running(int kind, double tolerance)
{
    void *one = made(kind, TOKEN);
    GOOD(started(one, 1, tolerance, 0.0, 3.0));
    GOOD(F(ExitInitializationMode)(one));
    return one;
}

/* Steps of 1 ms, with another inertia now and then, from `first` up to `last`; returns a state at the end. */
static double walk(void *one, int first, int last)
{
    double value;
    for (int k = first; k < last; k++) {
        if (k % 70 == 0)
            GOOD(get(one, inertia, &value)), GOOD(set(one, inertia, 1.001 * value));
        GOOD(step(one, k * 1e-3, 1e-3));
    }
    GOOD(get(one, state, &value));
    return value;
}

static void calls_out_of_order(void)
{
    double values[NX + 1];
    Boolean has_next;
    TRUE(!made(0, "wrong") && !made(EXCHANGE, NULL) && said == 2 && F(Reset)(NULL) == fmiError);
    F(FreeInstance)(NULL);
    F(FreeInstance)(made(0, TOKEN));
    for (int kind = 0; kind < 2; kind++) {
        void *one = made(kind, TOKEN);
        BAD(step(one, 0.0, 0.1));
        BAD(F(Terminate)(one));
        BAD(F(ExitInitializationMode)(one));
        BAD(F(EnterEventMode)(one));
        BAD(F(EnterContinuousTimeMode)(one));
        BAD(F(SetTime)(one, 0.0));
        BAD(F(SetContinuousStates)(one, values, NX));
        BAD(F(GetEventIndicators)(one, values, NG));
        BAD(updated(one, &has_next, &number));
        BAD(get(one, unknown, &number));
        BAD(set(one, rate, 1.0));
        BAD(started(one, 0, 0.0, 1.0, 0.5));
        BAD(started(one, 1, -1.0, 0.0, 3.0));
        BAD(started(one, 1, NAN, 0.0, 3.0));
        BAD(started(one, 0, 0.0, INFINITY, 3.0));
        GOOD(F(SetDebugLogging)(one, true, 0, NULL));
        GOOD(started(one, 1, 1e-5, 0.5, 3.0));
        BAD(F(ExitInitializationMode)(one)); /* its clock has times of its own */
        GOOD(F(Reset)(one));
        GOOD(started(one, 0, 0.0, 0.0, 3.0));
        BAD(F(Terminate)(one));
        GOOD(F(ExitInitializationMode)(one));
        GOOD(F(GetNominalsOfContinuousStates)(one, values, NX));
        TRUE(values[0] > 0.0);
        F(FreeInstance)(one); /* without an end */
    }
}

/* Values that no model can take, and values that this one can hardly take. */
static void out_of_range(void)
{
    static const double far[] = {1e300, -1e300, 1e-300, 0.0, -1.0};
    const uint32_t references[] = {state, state + 1, inertia};
    for (size_t k = 0; k < 15; k++) {
        void *one = made(0, TOKEN);
        const uint32_t reference = references[k / 5];
        BAD(set(one, reference, NAN));
        BAD(set(one, reference, INFINITY));
        BAD(set_mode(one, 77));
        BAD(set_mode(one, -1));
        GOOD(set_mode(one, mode_of(one)));
        GOOD(started(one, 0, 0.0, 0.0, 3.0));
        GOOD(set(one, reference, far[k % 5]));
        EITHER(F(ExitInitializationMode)(one));
        EITHER(step(one, 0.0, 0.5));
        EITHER(step(one, 0.5, 0.5));
        GOOD(F(Reset)(one));
        GOOD(started(one, 0, 0.0, 0.0, 3.0));
        GOOD(F(ExitInitializationMode)(one));
        GOOD(step(one, 0.0, 0.1));
        BAD(set(one, inertia, NAN));
        BAD(set(one, state, 1.0));
        GOOD(set(one, inertia, far[k % 5]));
        EITHER(step(one, 0.1, 0.1));
        F(FreeInstance)(one);
    }
}

static void co_simulation(int tiny)
{
    void *one = running(0, 1e-6), *two = running(0, 1e-8), *other = running(EXCHANGE, 1e-6), *saved = NULL, *read = NULL;
    calls_of_version(one);
    walk(one, 0, 1523);
    walk(two, 0, 1523);
    GOOD(F(GetFMUState)(one, &saved));
    const double end = walk(one, 1523, 3000), of_two = walk(two, 1523, 3000);
    GOOD(F(SerializedFMUStateSize)(one, saved, &size));
    uint8_t *bytes = malloc(size);
    GOOD(F(SerializeFMUState)(one, saved, bytes, size));
    BAD(F(SerializeFMUState)(one, saved, bytes, size - 1));
    BAD(F(DeserializeFMUState)(two, bytes, size - 1, &read));
    GOOD(F(DeserializeFMUState)(two, bytes, size, &read));
    BAD(F(SetFMUState)(other, read));
    BAD(F(SetFMUState)(two, NULL));
    BAD(F(GetFMUState)(two, NULL));
    GOOD(F(SetFMUState)(two, read));
    GOOD(F(SetFMUState)(one, saved));
    TRUE(end != of_two && walk(one, 1523, 3000) == end);
    GOOD(F(FreeFMUState)(one, &saved));
    F(FreeInstance)(one); /* the copy in the other instance does not need it */
    for (int k = 0; k < 2; k++)
        GOOD(F(FreeFMUState)(two, &read));
    const Instance *c = two;
    const size_t away = (size_t)(place_at(c->before, AT_C_Y) - c->block);
    TRUE(away < 8 * (size_t)WORDS && walk(two, 1523, 3000) == end);
    one = running(0, 1e-6);
    walk(one, 0, 3000);
    bytes[0] ^= 1;
    BAD(F(DeserializeFMUState)(one, bytes, size, &read));
    free(bytes);
    BAD(step(one, 3.0, 1.0));
    BAD(step(one, 3.0, -1.0));
    BAD(step(one, 3.0, 0.0));
    BAD(step(one, 2.0, 0.5));
    BAD(step(one, NAN, 1.0));
    BAD(step(one, 3.0, NAN));
    BAD(F(SetTime)(one, 1.0));
    GOOD(F(Terminate)(two));
    BAD(F(Terminate)(two));
    BAD(step(two, 3.0, 0.1));
    GOOD(F(Reset)(two));
    GOOD(started(two, 1, 1e-8, 0.0, 3.0));
    GOOD(F(ExitInitializationMode)(two));
    TRUE(walk(two, 0, 3000) == of_two);
    GOOD(F(Reset)(two));
    GOOD(started(two, 0, 0.0, 0.0, 3.0));
    GOOD(F(ExitInitializationMode)(two));
    for (int k = 0; k < tiny; k++)
        GOOD(step(two, 3.0 * k / tiny, 3.0 / tiny));
    F(FreeInstance)(one);
    F(FreeInstance)(two);
    F(FreeInstance)(other);
}

#if !BY_ELEMENT
/* The importer handles all events and ticks, saves the state at one of them, and comes back to it. */
static void event_mode(void)
{
    void *one = running(EVENT_MODE, 1e-6), *saved = NULL;
    double ends[2] = {0.0}, counts[2] = {0.0}, last = 0.0;
    Boolean has_next;
    bool event, over, early;
    GOOD(fmi3EvaluateDiscreteStates(one));
    GOOD(updated(one, &has_next, &number));
    BAD(fmi3EnterContinuousTimeMode(one));
    GOOD(fmi3EnterStepMode(one));
    for (int turn = 0; turn < 2; turn++) {
        while (last < 3.0 - 1e-9) {
            GOOD(fmi3DoStep(one, last, fmin(0.07, 3.0 - last), true, &event, &over, &early, &last));
            counts[turn] += event;
            if (!event)
                continue;
            GOOD(fmi3EnterEventMode(one));
            if (last > 1.0 && !saved) {
                GOOD(fmi3GetFMUState(one, &saved));
                counts[1] = counts[0];
            }
            GOOD(set(one, inertia, last > 2.0 ? 1.5 : 1.0));
            GOOD(updated(one, &has_next, &number));
            GOOD(fmi3EnterStepMode(one));
        }
        GOOD(get(one, state, &ends[turn]));
        if (!turn) {
            GOOD(fmi3SetFMUState(one, saved));
            GOOD(updated(one, &has_next, &number));
            GOOD(fmi3EnterStepMode(one));
            GOOD(get(one, 0, &last));
        }
    }
    TRUE(ends[0] == ends[1] && counts[0] == counts[1] && counts[0] > 60.0);
    GOOD(fmi3FreeFMUState(one, &saved));
    fmi3FreeInstance(one);
}
#endif

/* Explicit Euler, with events where an indicator rises through zero. */
static void model_exchange(void)
{
    Boolean has_next, event, ends;
    double x[NX + 1], rates_now[NX + 1], levels_before[NG + 1], now[NG + 1], t = 0.0, next = 0.0;
    void *one = running(EXCHANGE, 1e-6);
    BAD(step(one, 0.0, 0.1));
    GOOD(updated(one, &has_next, &next));
    GOOD(F(EnterContinuousTimeMode)(one));
    GOOD(F(GetEventIndicators)(one, levels_before, NG));
    for (int k = 0; k < 3000; k++) {
        const int tick = has_next && t + 1e-3 >= next;
        const double h = tick ? next - t : 1e-3;
        int happens = tick;
        GOOD(F(GetContinuousStates)(one, x, NX));
        GOOD(F(GetDerivatives)(one, rates_now, NX));
        for (int i = 0; i < NX; i++)
            x[i] += h * rates_now[i];
        t += h;
        GOOD(F(SetTime)(one, t));
        GOOD(F(SetContinuousStates)(one, x, NX));
        GOOD(F(GetEventIndicators)(one, now, NG));
        for (int i = 0; i < NG; i++)
            happens |= levels_before[i] < 0.0 && now[i] >= 0.0;
        GOOD(F(CompletedIntegratorStep)(one, true, &event, &ends));
        if (happens) {
            GOOD(F(EnterEventMode)(one));
            GOOD(updated(one, &has_next, &next));
            GOOD(F(EnterContinuousTimeMode)(one));
            GOOD(F(GetEventIndicators)(one, now, NG));
        }
        memcpy(levels_before, now, sizeof levels_before);
    }
    x[0] = NAN;
    BAD(F(SetContinuousStates)(one, x, NX));
    BAD(F(SetContinuousStates)(one, x, NX + 1));
    BAD(F(GetEventIndicators)(one, now, NG + 1));
    BAD(F(SetTime)(one, -1.0));
    BAD(F(SetTime)(one, NAN));
    for (int i = 0; i < NX; i++)
        x[i] = i % 2 ? -1e300 : 1e300;
    GOOD(F(SetContinuousStates)(one, x, NX));
    GOOD(F(GetDerivatives)(one, rates_now, NX));
    GOOD(F(CompletedIntegratorStep)(one, true, &event, &ends));
    GOOD(F(EnterEventMode)(one));
    EITHER(updated(one, &has_next, &next));
    F(FreeInstance)(one);
}

int main(int count, char **arguments)
{
    inertia = (PARAMETER << 24) + (count > 1 ? (unsigned)atoi(arguments[1]) : 0);
    calls_out_of_order();
    out_of_range();
    co_simulation(count > 2 ? atoi(arguments[2]) : 10000);
#if !BY_ELEMENT
    event_mode();
#endif
    model_exchange();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
