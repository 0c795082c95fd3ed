/* Types and functions of the Functional Mock-up Interface, as the standard states them: version 2.0.5, sections 2 to 4. */
typedef void *fmi2Component, *fmi2ComponentEnvironment, *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef void (*fmi2Logger)(fmi2ComponentEnvironment, fmi2String name, fmi2Status, fmi2String category, fmi2String message, ...);
typedef struct {
    fmi2Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment environment;
} fmi2CallbackFunctions;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged, valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#ifdef FMI2_FUNCTION_PREFIX
#define FMI2(name) JOINED(FMI2_FUNCTION_PREFIX, name)
#else
#define FMI2(name) name
#endif
#define FUNCTION(name, ...) EXPORT fmi2Status FMI2(name)(fmi2Component instance, __VA_ARGS__)
#define FUNCTION0(name) EXPORT fmi2Status FMI2(name)(fmi2Component instance)
#define REFERENCES const fmi2ValueReference references[], size_t count
#define ANY_ORDER (MADE | SETUP | STEPPING | EVENTS | CONTINUOUS | ENDED)
/* Begin a function: it needs an instance, in one of these phases. */
#define IN(phases, name) \
    Instance *c = instance; \
    if (!c || out_of_order(c, phases, #name)) \
        return fmi2Error
#define STATUS(failed) ((failed) ? fmi2Error : fmi2OK)

EXPORT const char *FMI2(fmi2GetTypesPlatform)(void)
{
    return "default";
}

EXPORT const char *FMI2(fmi2GetVersion)(void)
{
    return "2.0";
}

static void say(void *instance, int failed, const char *text)
{
    Instance *c = instance;
    if (c->log) /* the text is no format: a name in it may have a per cent sign */
        ((fmi2Logger)c->log)(c->environment, c->name, failed ? fmi2Error : fmi2OK, failed ? "logStatusError" : "logEvents", "%s", text);
}

EXPORT fmi2Component FMI2(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String token, fmi2String resources,
                                           const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    const fmi2Logger log = functions ? functions->logger : NULL;
    const int offered = type == fmi2ModelExchange ? HAS_EXCHANGE : HAS_COSIMULATION;
    const char *why = !name || !*name                    ? "an instance has no name"
                      : !token || strcmp(token, TOKEN)   ? "the GUID is another one"
                      : !offered                         ? "the model was not exported for this interface type"
                                                         : NULL;
    Instance *c = why ? NULL : new_instance(name, type == fmi2ModelExchange);
    (void)resources, (void)visible, (void)logging;
    if (!c) {
        if (log)
            log(functions->environment, name ? name : "", fmi2Error, "logStatusError", "%s", why ? why : "no memory for an instance");
        return NULL;
    }
    c->environment = functions ? functions->environment : NULL;
    c->log = (void (*)(void))log;
    c->say = say;
    return c;
}

EXPORT void FMI2(fmi2FreeInstance)(fmi2Component instance)
{
    free_instance(instance);
}

FUNCTION(fmi2SetDebugLogging, fmi2Boolean on, size_t count, const fmi2String categories[])
{
    (void)on, (void)count, (void)categories;
    IN(ANY_ORDER, fmi2SetDebugLogging);
    return fmi2OK;
}

FUNCTION(fmi2SetupExperiment, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start, fmi2Boolean has_stop, fmi2Real stop)
{
    IN(MADE, fmi2SetupExperiment);
    const int failed = set_up(c, has_tolerance, tolerance, start, has_stop, stop);
    c->s.phase = MADE;
    return STATUS(failed);
}

FUNCTION0(fmi2EnterInitializationMode)
{
    IN(MADE, fmi2EnterInitializationMode);
    c->s.phase = SETUP;
    return fmi2OK;
}

FUNCTION0(fmi2ExitInitializationMode)
{
    IN(SETUP, fmi2ExitInitializationMode);
    return STATUS(begin_phase(c));
}

FUNCTION0(fmi2Terminate)
{
    IN(STEPPING | EVENTS | CONTINUOUS, fmi2Terminate);
    c->s.phase = ENDED;
    return fmi2OK;
}

FUNCTION0(fmi2Reset)
{
    IN(ANY_ORDER, fmi2Reset);
    load_start(c);
    return fmi2OK;
}

FUNCTION(fmi2GetReal, REFERENCES, fmi2Real values[])
{
    IN(ANY_ORDER, fmi2GetReal);
    return STATUS(get_values(c, references, count, values, count, 0));
}

FUNCTION(fmi2SetReal, REFERENCES, const fmi2Real values[])
{
    IN(ANY_ORDER & ~ENDED, fmi2SetReal);
    return STATUS(set_values(c, references, count, values, count, 0));
}

FUNCTION(fmi2GetInteger, REFERENCES, fmi2Integer values[])
{
    IN(ANY_ORDER, fmi2GetInteger);
    for (size_t k = 0; k < count; k++) {
        double value;
        if (get_values(c, references + k, 1, &value, 1, 1))
            return fmi2Error;
        values[k] = (fmi2Integer)value;
    }
    return fmi2OK;
}

FUNCTION(fmi2SetInteger, REFERENCES, const fmi2Integer values[])
{
    IN(ANY_ORDER & ~ENDED, fmi2SetInteger);
    for (size_t k = 0; k < count; k++) {
        const double value = values[k];
        if (set_values(c, references + k, 1, &value, 1, 1))
            return fmi2Error;
    }
    return fmi2OK;
}

/* The model has no variables of other types. */
#define WITHOUT(type) \
    FUNCTION(fmi2Get##type, REFERENCES, fmi2##type values[]) \
    { \
        (void)references, (void)values; \
        IN(ANY_ORDER, fmi2Get##type); \
        return STATUS(count && refuse(c, "the model has no variables of type " #type)); \
    } \
    FUNCTION(fmi2Set##type, REFERENCES, const fmi2##type values[]) \
    { \
        (void)references, (void)values; \
        IN(ANY_ORDER, fmi2Set##type); \
        return STATUS(count && refuse(c, "the model has no variables of type " #type)); \
    }

WITHOUT(Boolean)
WITHOUT(String)

FUNCTION(fmi2GetFMUstate, fmi2FMUstate *state)
{
    IN(ANY_ORDER, fmi2GetFMUstate);
    return STATUS(!state ? refuse(c, "there is no place for a state") : save(c, state));
}

FUNCTION(fmi2SetFMUstate, fmi2FMUstate state)
{
    IN(ANY_ORDER, fmi2SetFMUstate);
    return STATUS(restore(c, state));
}

FUNCTION(fmi2FreeFMUstate, fmi2FMUstate *state)
{
    IN(ANY_ORDER, fmi2FreeFMUstate);
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi2OK;
}

FUNCTION(fmi2SerializedFMUstateSize, fmi2FMUstate state, size_t *size)
{
    IN(ANY_ORDER, fmi2SerializedFMUstateSize);
    (void)state;
    *size = sizeof(Saved);
    return fmi2OK;
}

FUNCTION(fmi2SerializeFMUstate, fmi2FMUstate state, fmi2Byte bytes[], size_t room)
{
    IN(ANY_ORDER, fmi2SerializeFMUstate);
    return STATUS(serialize(c, state, bytes, room));
}

FUNCTION(fmi2DeSerializeFMUstate, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    IN(ANY_ORDER, fmi2DeSerializeFMUstate);
    return STATUS(!state ? refuse(c, "there is no place for a state") : deserialize(c, bytes, size, state));
}

FUNCTION(fmi2GetDirectionalDerivative, const fmi2ValueReference unknowns[], size_t unknown_count, const fmi2ValueReference knowns[],
         size_t known_count, const fmi2Real seed[], fmi2Real values[])
{
    IN(SETUP | STEPPING | EVENTS | CONTINUOUS, fmi2GetDirectionalDerivative);
    return STATUS(derivative(c, unknowns, unknown_count, knowns, known_count, seed, known_count, values, unknown_count, 0));
}

FUNCTION0(fmi2EnterEventMode)
{
    IN(CONTINUOUS | EVENTS, fmi2EnterEventMode);
    c->s.phase = EVENTS;
    return fmi2OK;
}

FUNCTION(fmi2NewDiscreteStates, fmi2EventInfo *info)
{
    IN(EVENTS, fmi2NewDiscreteStates);
    int jumps = 0;
    memset(info, 0, sizeof *info);
    const int status = update(c, &jumps, &info->nextEventTime);
    info->terminateSimulation = status == RUN_ENDS;
    info->valuesOfContinuousStatesChanged = jumps;
    info->nextEventTimeDefined = status == FINE && isfinite(info->nextEventTime);
    return STATUS(status == FAILED);
}

FUNCTION0(fmi2EnterContinuousTimeMode)
{
    IN(EVENTS, fmi2EnterContinuousTimeMode);
    c->s.phase = CONTINUOUS;
    return fmi2OK;
}

FUNCTION(fmi2CompletedIntegratorStep, fmi2Boolean no_return, fmi2Boolean *enter_events, fmi2Boolean *terminate)
{
    (void)no_return;
    IN(CONTINUOUS, fmi2CompletedIntegratorStep);
    complete_step(c);
    *enter_events = *terminate = 0;
    return fmi2OK;
}

FUNCTION(fmi2SetTime, fmi2Real time)
{
    IN(EVENTS | CONTINUOUS, fmi2SetTime);
    return STATUS(set_time(c, time));
}

FUNCTION(fmi2SetContinuousStates, const fmi2Real states[], size_t count)
{
    IN(EVENTS | CONTINUOUS, fmi2SetContinuousStates);
    return STATUS(set_states(c, states, count));
}

FUNCTION(fmi2GetDerivatives, fmi2Real values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi2GetDerivatives);
    return STATUS(copy(c, values, count, rates(c), NX));
}

FUNCTION(fmi2GetEventIndicators, fmi2Real values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi2GetEventIndicators);
    return STATUS(copy(c, values, count, indicators(c), NG));
}

FUNCTION(fmi2GetContinuousStates, fmi2Real values[], size_t count)
{
    IN(SETUP | EVENTS | CONTINUOUS | ENDED, fmi2GetContinuousStates);
    return STATUS(copy(c, values, count, c->s.x, NX));
}

FUNCTION(fmi2GetNominalsOfContinuousStates, fmi2Real values[], size_t count)
{
    IN(ANY_ORDER, fmi2GetNominalsOfContinuousStates);
    return STATUS(copy(c, values, count, nominal, NX));
}

/* Functions for what the model does not have: they fail unless they are called for nothing. */
#define ABSENT(name, ...) \
    FUNCTION(name, const fmi2ValueReference r[], size_t n, __VA_ARGS__) \
    { \
        IN(ANY_ORDER, name); \
        return STATUS(n && refuse(c, "the model has nothing for " #name)); \
    }

ABSENT(fmi2SetRealInputDerivatives, const fmi2Integer orders[], const fmi2Real v[])
ABSENT(fmi2GetRealOutputDerivatives, const fmi2Integer orders[], fmi2Real v[])

FUNCTION(fmi2DoStep, fmi2Real from, fmi2Real length, fmi2Boolean no_return)
{
    (void)no_return;
    IN(STEPPING, fmi2DoStep);
    const int status = take_step(c, from, length);
    c->s.ends = status == RUN_ENDS;
    return c->s.ends ? fmi2Discard : STATUS(status == FAILED);
}

FUNCTION0(fmi2CancelStep)
{
    IN(STEPPING, fmi2CancelStep);
    return STATUS(refuse(c, "steps are not asynchronous"));
}

FUNCTION(fmi2GetStatus, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind, (void)value;
    IN(ANY_ORDER, fmi2GetStatus);
    return fmi2Discard;
}

FUNCTION(fmi2GetRealStatus, const fmi2StatusKind kind, fmi2Real *value)
{
    IN(ANY_ORDER, fmi2GetRealStatus);
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = c->s.start + c->s.now;
    return fmi2OK;
}

FUNCTION(fmi2GetIntegerStatus, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)kind, (void)value;
    IN(ANY_ORDER, fmi2GetIntegerStatus);
    return fmi2Discard;
}

FUNCTION(fmi2GetBooleanStatus, const fmi2StatusKind kind, fmi2Boolean *value)
{
    IN(ANY_ORDER, fmi2GetBooleanStatus);
    if (kind != fmi2Terminated)
        return fmi2Discard;
    *value = c->s.ends;
    return fmi2OK;
}

FUNCTION(fmi2GetStringStatus, const fmi2StatusKind kind, fmi2String *value)
{
    (void)kind, (void)value;
    IN(ANY_ORDER, fmi2GetStringStatus);
    return fmi2Discard;
}
