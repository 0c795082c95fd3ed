/* Types and functions of the Functional Mock-up Interface, as the standard states them: version 3.0.2, sections 2.2 to 4.2. */
typedef void *fmi3Instance, *fmi3InstanceEnvironment, *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8, fmi3Byte;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean, fmi3Clock;
typedef const char *fmi3String;
typedef const fmi3Byte *fmi3Binary;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum { fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent } fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3PreemptionCallback)(void);

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#ifdef FMI3_FUNCTION_PREFIX
#define FMI3(name) JOINED(FMI3_FUNCTION_PREFIX, name)
#else
#define FMI3(name) name
#endif
#define FUNCTION(name, ...) EXPORT fmi3Status FMI3(name)(fmi3Instance instance, __VA_ARGS__)
#define FUNCTION0(name) EXPORT fmi3Status FMI3(name)(fmi3Instance instance)
#define REFERENCES const fmi3ValueReference references[], size_t count
#define ANY_ORDER (MADE | SETUP | STEPPING | EVENTS | CONTINUOUS | ENDED)
/* Begin a function: it needs an instance, in one of these phases. */
#define IN(phases, name) \
    Instance *c = instance; \
    if (!c || out_of_order(c, phases, #name)) \
        return fmi3Error
#define STATUS(failed) ((failed) ? fmi3Error : fmi3OK)

EXPORT const char *FMI3(fmi3GetVersion)(void)
{
    return "3.0";
}

static void say(void *instance, int failed, const char *text)
{
    Instance *c = instance;
    if (c->log)
        ((fmi3LogMessageCallback)c->log)(c->environment, failed ? fmi3Error : fmi3OK, failed ? "logStatusError" : "logEvents", text);
}

static fmi3Instance instantiated(fmi3String name, fmi3String token, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                 int is_exchange)
{
    const char *why = !name ? "an instance has no name" : !token || strcmp(token, TOKEN) ? "the instantiation token is another one" : NULL;
    Instance *c = why ? NULL : new_instance(name, is_exchange);
    if (!c) {
        if (log)
            log(environment, fmi3Error, "logStatusError", why ? why : "there is no memory for an instance");
        return NULL;
    }
    c->environment = environment;
    c->log = (void (*)(void))log;
    c->say = say;
    return c;
}

EXPORT fmi3Instance FMI3(fmi3InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                                       fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                                       fmi3LogMessageCallback log)
{
    (void)resources, (void)visible, (void)logging;
    return HAS_EXCHANGE ? instantiated(name, token, environment, log, 1) : NULL;
}

EXPORT fmi3Instance FMI3(fmi3InstantiateCoSimulation)(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                                      fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
                                                      const fmi3ValueReference intermediate[], size_t intermediates,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                      fmi3IntermediateUpdateCallback update)
{
    (void)resources, (void)visible, (void)logging, (void)early_return, (void)intermediate, (void)intermediates, (void)update;
    if (event_mode) {
        if (log)
            log(environment, fmi3Error, "logStatusError", "co-simulation has no event mode here: events are handled in a step");
        return NULL;
    }
    return HAS_COSIMULATION ? instantiated(name, token, environment, log, 0) : NULL;
}

EXPORT fmi3Instance FMI3(fmi3InstantiateScheduledExecution)(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                                            fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                                            fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
                                                            fmi3PreemptionCallback lock, fmi3PreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log, (void)update, (void)lock;
    (void)unlock;
    return NULL;
}

EXPORT void FMI3(fmi3FreeInstance)(fmi3Instance instance)
{
    free_instance(instance);
}

FUNCTION(fmi3SetDebugLogging, fmi3Boolean on, size_t count, const fmi3String categories[])
{
    (void)on, (void)count, (void)categories;
    IN(ANY_ORDER, fmi3SetDebugLogging);
    return fmi3OK;
}

FUNCTION(fmi3EnterInitializationMode, fmi3Boolean has_tolerance, fmi3Float64 tolerance, fmi3Float64 start, fmi3Boolean has_stop,
         fmi3Float64 stop)
{
    IN(MADE, fmi3EnterInitializationMode);
    return STATUS(set_up(c, has_tolerance, tolerance, start, has_stop, stop));
}

FUNCTION0(fmi3ExitInitializationMode)
{
    IN(SETUP, fmi3ExitInitializationMode);
    return STATUS(begin_phase(c));
}

FUNCTION0(fmi3EnterEventMode)
{
    IN(CONTINUOUS | EVENTS, fmi3EnterEventMode);
    c->s.phase = EVENTS;
    return fmi3OK;
}

FUNCTION0(fmi3Terminate)
{
    IN(STEPPING | EVENTS | CONTINUOUS, fmi3Terminate);
    c->s.phase = ENDED;
    return fmi3OK;
}

FUNCTION0(fmi3Reset)
{
    IN(ANY_ORDER, fmi3Reset);
    load_start(c);
    return fmi3OK;
}

FUNCTION(fmi3GetFloat64, REFERENCES, fmi3Float64 values[], size_t room)
{
    IN(ANY_ORDER, fmi3GetFloat64);
    return STATUS(get_values(c, references, count, values, room, 0));
}

FUNCTION(fmi3SetFloat64, REFERENCES, const fmi3Float64 values[], size_t given)
{
    IN(ANY_ORDER & ~ENDED, fmi3SetFloat64);
    return STATUS(set_values(c, references, count, values, given, 0));
}

FUNCTION(fmi3GetInt64, REFERENCES, fmi3Int64 values[], size_t room)
{
    IN(ANY_ORDER, fmi3GetInt64);
    if (count != room)
        return STATUS(refuse(c, "%zu values are asked for, and the references have %zu", room, count));
    for (size_t k = 0; k < count; k++) {
        double value;
        if (get_values(c, references + k, 1, &value, 1, 1))
            return fmi3Error;
        values[k] = (fmi3Int64)value;
    }
    return fmi3OK;
}

FUNCTION(fmi3SetInt64, REFERENCES, const fmi3Int64 values[], size_t given)
{
    IN(ANY_ORDER & ~ENDED, fmi3SetInt64);
    if (count != given)
        return STATUS(refuse(c, "%zu values are given, and the references have %zu", given, count));
    for (size_t k = 0; k < count; k++) {
        const double value = (double)values[k];
        if (set_values(c, references + k, 1, &value, 1, 1))
            return fmi3Error;
    }
    return fmi3OK;
}

/* The model has no variables of other types. */
#define WITHOUT(type) \
    FUNCTION(fmi3Get##type, REFERENCES, fmi3##type values[], size_t room) \
    { \
        (void)references, (void)values, (void)room; \
        IN(ANY_ORDER, fmi3Get##type); \
        return STATUS(count && refuse(c, "the model has no variables of type " #type)); \
    } \
    FUNCTION(fmi3Set##type, REFERENCES, const fmi3##type values[], size_t given) \
    { \
        (void)references, (void)values, (void)given; \
        IN(ANY_ORDER, fmi3Set##type); \
        return STATUS(count && refuse(c, "the model has no variables of type " #type)); \
    }

WITHOUT(Float32)
WITHOUT(Int8)
WITHOUT(UInt8)
WITHOUT(Int16)
WITHOUT(UInt16)
WITHOUT(Int32)
WITHOUT(UInt32)
WITHOUT(UInt64)
WITHOUT(Boolean)
WITHOUT(String)

/* Functions for what the model does not have: they fail unless they are called for nothing. */
#define ABSENT(name, count, ...) \
    FUNCTION(name, __VA_ARGS__) \
    { \
        IN(ANY_ORDER, name); \
        return STATUS((count) && refuse(c, "the model has nothing for " #name)); \
    }

ABSENT(fmi3GetBinary, n, const fmi3ValueReference r[], size_t n, size_t sizes[], fmi3Binary v[], size_t m)
ABSENT(fmi3SetBinary, n, const fmi3ValueReference r[], size_t n, const size_t sizes[], const fmi3Binary v[], size_t m)
ABSENT(fmi3GetClock, n, const fmi3ValueReference r[], size_t n, fmi3Clock v[])
ABSENT(fmi3SetClock, n, const fmi3ValueReference r[], size_t n, const fmi3Clock v[])
ABSENT(fmi3GetIntervalDecimal, n, const fmi3ValueReference r[], size_t n, fmi3Float64 v[], fmi3IntervalQualifier q[])
ABSENT(fmi3GetIntervalFraction, n, const fmi3ValueReference r[], size_t n, fmi3UInt64 v[], fmi3UInt64 w[], fmi3IntervalQualifier q[])
ABSENT(fmi3GetShiftDecimal, n, const fmi3ValueReference r[], size_t n, fmi3Float64 v[])
ABSENT(fmi3GetShiftFraction, n, const fmi3ValueReference r[], size_t n, fmi3UInt64 v[], fmi3UInt64 w[])
ABSENT(fmi3SetIntervalDecimal, n, const fmi3ValueReference r[], size_t n, const fmi3Float64 v[])
ABSENT(fmi3SetIntervalFraction, n, const fmi3ValueReference r[], size_t n, const fmi3UInt64 v[], const fmi3UInt64 w[])
ABSENT(fmi3SetShiftDecimal, n, const fmi3ValueReference r[], size_t n, const fmi3Float64 v[])
ABSENT(fmi3SetShiftFraction, n, const fmi3ValueReference r[], size_t n, const fmi3UInt64 v[], const fmi3UInt64 w[])
ABSENT(fmi3GetOutputDerivatives, n, const fmi3ValueReference r[], size_t n, const fmi3Int32 orders[], fmi3Float64 v[], size_t m)
ABSENT(fmi3ActivateModelPartition, 1, fmi3ValueReference r, fmi3Float64 t)
ABSENT(fmi3GetNumberOfVariableDependencies, 1, fmi3ValueReference r, size_t *n)
ABSENT(fmi3GetVariableDependencies, 1, fmi3ValueReference r, size_t a[], fmi3ValueReference b[], size_t d[], fmi3DependencyKind k[],
       size_t n)

FUNCTION(fmi3GetFMUState, fmi3FMUState *state)
{
    IN(ANY_ORDER, fmi3GetFMUState);
    return STATUS(!state ? refuse(c, "there is no place for a state") : save(c, state));
}

FUNCTION(fmi3SetFMUState, fmi3FMUState state)
{
    IN(ANY_ORDER, fmi3SetFMUState);
    return STATUS(restore(c, state));
}

FUNCTION(fmi3FreeFMUState, fmi3FMUState *state)
{
    IN(ANY_ORDER, fmi3FreeFMUState);
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

FUNCTION(fmi3SerializedFMUStateSize, fmi3FMUState state, size_t *size)
{
    IN(ANY_ORDER, fmi3SerializedFMUStateSize);
    (void)state;
    *size = sizeof(Saved);
    return fmi3OK;
}

FUNCTION(fmi3SerializeFMUState, fmi3FMUState state, fmi3Byte bytes[], size_t room)
{
    IN(ANY_ORDER, fmi3SerializeFMUState);
    return STATUS(serialize(c, state, bytes, room));
}

FUNCTION(fmi3DeserializeFMUState, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    IN(ANY_ORDER, fmi3DeserializeFMUState);
    return STATUS(!state ? refuse(c, "there is no place for a state") : deserialize(c, bytes, size, state));
}

FUNCTION(fmi3GetDirectionalDerivative, const fmi3ValueReference unknowns[], size_t unknown_count, const fmi3ValueReference knowns[],
         size_t known_count, const fmi3Float64 seed[], size_t seeds, fmi3Float64 values[], size_t room)
{
    IN(SETUP | STEPPING | EVENTS | CONTINUOUS, fmi3GetDirectionalDerivative);
    return STATUS(derivative(c, unknowns, unknown_count, knowns, known_count, seed, seeds, values, room, 0));
}

FUNCTION(fmi3GetAdjointDerivative, const fmi3ValueReference unknowns[], size_t unknown_count, const fmi3ValueReference knowns[],
         size_t known_count, const fmi3Float64 seed[], size_t seeds, fmi3Float64 values[], size_t room)
{
    IN(SETUP | STEPPING | EVENTS | CONTINUOUS, fmi3GetAdjointDerivative);
    return STATUS(derivative(c, unknowns, unknown_count, knowns, known_count, seed, seeds, values, room, 1));
}

FUNCTION0(fmi3EnterConfigurationMode)
{
    IN(MADE, fmi3EnterConfigurationMode);
    return STATUS(refuse(c, "the model has no structural parameters"));
}

FUNCTION0(fmi3ExitConfigurationMode)
{
    IN(0, fmi3ExitConfigurationMode);
    return fmi3OK;
}

FUNCTION0(fmi3EvaluateDiscreteStates)
{
    IN(SETUP | EVENTS, fmi3EvaluateDiscreteStates);
    return fmi3OK;
}

FUNCTION(fmi3UpdateDiscreteStates, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals, fmi3Boolean *values,
         fmi3Boolean *has_next, fmi3Float64 *next)
{
    IN(EVENTS, fmi3UpdateDiscreteStates);
    int jumps = 0;
    const int status = update(c, &jumps, next);
    *again = *nominals = false;
    *terminate = status == RUN_ENDS;
    *values = jumps != 0;
    *has_next = status == FINE && isfinite(*next);
    return STATUS(status == FAILED);
}

FUNCTION0(fmi3EnterContinuousTimeMode)
{
    IN(EVENTS, fmi3EnterContinuousTimeMode);
    c->s.phase = CONTINUOUS;
    return fmi3OK;
}

FUNCTION(fmi3CompletedIntegratorStep, fmi3Boolean no_return, fmi3Boolean *enter_events, fmi3Boolean *terminate)
{
    (void)no_return;
    IN(CONTINUOUS, fmi3CompletedIntegratorStep);
    complete_step(c);
    *enter_events = *terminate = false;
    return fmi3OK;
}

FUNCTION(fmi3SetTime, fmi3Float64 time)
{
    IN(EVENTS | CONTINUOUS, fmi3SetTime);
    return STATUS(set_time(c, time));
}

FUNCTION(fmi3SetContinuousStates, const fmi3Float64 states[], size_t count)
{
    IN(CONTINUOUS | EVENTS, fmi3SetContinuousStates);
    return STATUS(set_states(c, states, count));
}

FUNCTION(fmi3GetContinuousStateDerivatives, fmi3Float64 values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi3GetContinuousStateDerivatives);
    return STATUS(copy(c, values, count, rates(c), NX));
}

FUNCTION(fmi3GetEventIndicators, fmi3Float64 values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi3GetEventIndicators);
    return STATUS(copy(c, values, count, indicators(c), NG));
}

FUNCTION(fmi3GetContinuousStates, fmi3Float64 values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi3GetContinuousStates);
    return STATUS(copy(c, values, count, c->s.x, NX));
}

FUNCTION(fmi3GetNominalsOfContinuousStates, fmi3Float64 values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi3GetNominalsOfContinuousStates);
    return STATUS(copy(c, values, count, nominal, NX));
}

FUNCTION(fmi3GetNumberOfEventIndicators, size_t *count)
{
    IN(ANY_ORDER, fmi3GetNumberOfEventIndicators);
    *count = NG;
    return fmi3OK;
}

FUNCTION(fmi3GetNumberOfContinuousStates, size_t *count)
{
    IN(ANY_ORDER, fmi3GetNumberOfContinuousStates);
    *count = NX;
    return fmi3OK;
}

FUNCTION0(fmi3EnterStepMode)
{
    IN(0, fmi3EnterStepMode);
    return fmi3OK;
}

FUNCTION(fmi3DoStep, fmi3Float64 from, fmi3Float64 length, fmi3Boolean no_return, fmi3Boolean *event, fmi3Boolean *terminate,
         fmi3Boolean *early, fmi3Float64 *last)
{
    (void)no_return;
    IN(STEPPING, fmi3DoStep);
    const int status = take_step(c, from, length);
    *event = *early = false;
    *terminate = status == RUN_ENDS;
    *last = c->s.start + c->s.now;
    return STATUS(status == FAILED);
}
