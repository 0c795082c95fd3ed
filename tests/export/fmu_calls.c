/* All functions of FMI 3.0 in order and out of order, on the model of test_fmu.py; prints what is wrong. */
#include "model.c"

static int said, wrong;

static void hear(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String text)
{
    (void)environment, (void)status, (void)category;
    said += text && *text;
}

/* A call that has to fail and to say why, and one that has to succeed. */
#define BAD(call) \
    do { \
        const int before = said; \
        if ((call) != fmi3Error || said == before) \
            wrong++, printf("line %d: no error\n", __LINE__); \
    } while (0)
#define GOOD(call) \
    do { \
        if ((call) != fmi3OK) \
            wrong++, printf("line %d: an error\n", __LINE__); \
    } while (0)

static fmi3Instance slave(void)
{
    return fmi3InstantiateCoSimulation("slave", TOKEN, NULL, false, false, false, false, NULL, 0, NULL, hear, NULL);
}

static const fmi3ValueReference state = STATE << 24, mode = MODE << 24, unknown = 200u << 24;
static fmi3ValueReference inertia;

static void step(fmi3Instance one, int k)
{
    bool event, terminate, early;
    double value, last;
    if (k % 7 == 0) {
        GOOD(fmi3GetFloat64(one, &inertia, 1, &value, 1));
        value *= 1.001;
        GOOD(fmi3SetFloat64(one, &inertia, 1, &value, 1));
    }
    GOOD(fmi3DoStep(one, k * 1e-3, 1e-3, true, &event, &terminate, &early, &last));
}

static void co_simulation(void)
{
    bool a, b, c;
    double value, other_value, last;
    int64_t whole = 77;
    void *saved = NULL, *read = NULL;
    size_t size = 0;
    if (fmi3InstantiateCoSimulation("slave", "wrong", NULL, false, false, false, false, NULL, 0, NULL, hear, NULL) || !said)
        wrong++, printf("a wrong token\n");
    fmi3FreeInstance(NULL);
    fmi3FreeInstance(slave());
    if (fmi3Reset(NULL) != fmi3Error)
        wrong++, printf("no instance\n");
    fmi3Instance one = slave(), two = slave();
    BAD(fmi3DoStep(one, 0.0, 0.1, true, &a, &b, &c, &last));
    BAD(fmi3Terminate(one));
    BAD(fmi3ExitInitializationMode(one));
    BAD(fmi3GetFloat64(one, &unknown, 1, &value, 1));
    BAD(fmi3GetFloat64(one, &state, 1, &value, 0));
    BAD(fmi3GetFloat64(one, &state, 1, &value, 2));
    BAD(fmi3SetFloat64(one, &inertia, 1, &value, 0));
    value = NAN;
    BAD(fmi3SetFloat64(one, &inertia, 1, &value, 1));
    BAD(fmi3SetInt64(one, &mode, 1, &whole, 1));
    GOOD(fmi3GetInt64(one, &mode, 1, &whole, 1));
    GOOD(fmi3SetInt64(one, &mode, 1, &whole, 1));
    BAD(fmi3GetBoolean(one, &state, 1, &a, 1));
    GOOD(fmi3GetBoolean(one, &state, 0, &a, 0));
    BAD(fmi3SetFMUState(one, NULL));
    BAD(fmi3EnterInitializationMode(one, false, 0.0, 1.0, true, 0.5));
    BAD(fmi3EnterInitializationMode(one, true, -1.0, 0.0, false, 0.0));
    GOOD(fmi3EnterInitializationMode(one, true, 1e-5, 0.5, true, 3.0));
    BAD(fmi3ExitInitializationMode(one)); /* its clock has times of its own */
    GOOD(fmi3Reset(one));
    GOOD(fmi3EnterInitializationMode(one, false, 0.0, 0.0, true, 3.0));
    GOOD(fmi3ExitInitializationMode(one));
    for (int k = 0; k < 3000; k++) {
        step(one, k);
        if (k == 1500)
            GOOD(fmi3GetFMUState(one, &saved));
    }
    GOOD(fmi3SerializedFMUStateSize(one, saved, &size));
    fmi3Byte *bytes = malloc(size);
    GOOD(fmi3SerializeFMUState(one, saved, bytes, size));
    BAD(fmi3SerializeFMUState(one, saved, bytes, size - 1));
    BAD(fmi3DeserializeFMUState(two, bytes, size - 1, &read));
    GOOD(fmi3DeserializeFMUState(two, bytes, size, &read));
    GOOD(fmi3SetFMUState(two, read));
    GOOD(fmi3SetFMUState(one, saved));
    for (int k = 1501; k < 3000; k++) {
        step(one, k);
        step(two, k);
        GOOD(fmi3GetFloat64(one, &state, 1, &value, 1));
        GOOD(fmi3GetFloat64(two, &state, 1, &other_value, 1));
        wrong += value != other_value;
    }
    bytes[0] ^= 1;
    BAD(fmi3DeserializeFMUState(one, bytes, size, &read));
    free(bytes);
    for (int k = 0; k < 2; k++)
        GOOD(fmi3FreeFMUState(one, &read));
    GOOD(fmi3FreeFMUState(one, &saved));
    BAD(fmi3DoStep(one, 3.0, 1.0, true, &a, &b, &c, &last));
    BAD(fmi3DoStep(one, 3.0, -1.0, true, &a, &b, &c, &last));
    BAD(fmi3DoStep(one, 3.0, 0.0, true, &a, &b, &c, &last));
    BAD(fmi3DoStep(one, NAN, 1.0, true, &a, &b, &c, &last));
    BAD(fmi3EnterEventMode(one));
    BAD(fmi3SetTime(one, 1.0));
    BAD(fmi3EnterStepMode(one));
    BAD(fmi3ActivateModelPartition(one, 0, 0.0));
    fmi3FreeInstance(one);
    GOOD(fmi3Terminate(two));
    BAD(fmi3Terminate(two));
    GOOD(fmi3Reset(two));
    fmi3FreeInstance(two);
}

/* Explicit Euler, with events where an indicator rises through zero. */
static void model_exchange(void)
{
    bool again, ends, c, d, has_next;
    double x[NX + 1], rates_now[NX + 1], before[NG + 1], now[NG + 1], t = 0.0, next = 0.0;
    fmi3Instance one = fmi3InstantiateModelExchange("model", TOKEN, NULL, false, false, NULL, hear);
    GOOD(fmi3EnterInitializationMode(one, false, 0.0, 0.0, false, 0.0));
    GOOD(fmi3ExitInitializationMode(one));
    GOOD(fmi3UpdateDiscreteStates(one, &again, &ends, &c, &d, &has_next, &next));
    GOOD(fmi3EnterContinuousTimeMode(one));
    GOOD(fmi3GetEventIndicators(one, before, NG));
    for (int k = 0; k < 3000; k++) {
        const int tick = has_next && t + 1e-3 >= next;
        const double h = tick ? next - t : 1e-3;
        int event = tick;
        GOOD(fmi3GetContinuousStates(one, x, NX));
        GOOD(fmi3GetContinuousStateDerivatives(one, rates_now, NX));
        for (int i = 0; i < NX; i++)
            x[i] += h * rates_now[i];
        t += h;
        GOOD(fmi3SetTime(one, t));
        GOOD(fmi3SetContinuousStates(one, x, NX));
        GOOD(fmi3GetEventIndicators(one, now, NG));
        for (int i = 0; i < NG; i++)
            event |= before[i] < 0.0 && now[i] >= 0.0;
        GOOD(fmi3CompletedIntegratorStep(one, true, &again, &ends));
        if (event) {
            GOOD(fmi3EnterEventMode(one));
            GOOD(fmi3UpdateDiscreteStates(one, &again, &ends, &c, &d, &has_next, &next));
            GOOD(fmi3EnterContinuousTimeMode(one));
            GOOD(fmi3GetEventIndicators(one, now, NG));
        }
        memcpy(before, now, sizeof before);
    }
    x[0] = NAN;
    BAD(fmi3SetContinuousStates(one, x, NX));
    BAD(fmi3SetContinuousStates(one, x, NX + 1));
    BAD(fmi3GetEventIndicators(one, now, NG + 1));
    fmi3FreeInstance(one);
}

int main(int count, char **arguments)
{
    inertia = (PARAMETER << 24) + (count > 1 ? (unsigned)atoi(arguments[1]) : 0);
    co_simulation();
    model_exchange();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
