/* The functions of version 2.0.5 of the standard, sections 2 to 4, that version 3.0 lacks or defines differently. */
typedef void (*fmi2Logger)(void *environment, const char *name, Status, const char *category, const char *message, ...);
typedef struct {
    fmi2Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *environment, Status);
    void *environment;
} fmi2CallbackFunctions;
typedef struct {
    int newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged, valuesOfContinuousStatesChanged;
    int nextEventTimeDefined;
    double nextEventTime;
} fmi2EventInfo;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

STATES_AND_RATES(FMUstate, DeSerialize, GetDerivatives)

EXPORT const char *NAMED(GetTypesPlatform)(void)
{
    return "default";
}

EXPORT const char *NAMED(GetVersion)(void)
{
    return "2.0";
}

static void log_message(void *instance, int failed, const char *text)
{
    Instance *c = instance;
    if (c->log) /* the text is not a format: a name in it may contain a per cent sign */
        ((fmi2Logger)c->log)(c->environment, c->name, failed ? fmiError : fmiOK, failed ? "logStatusError" : "logEvents", "%s", text);
}

EXPORT void *NAMED(Instantiate)(const char *name, fmi2Type type, const char *token, const char *resources,
                                const fmi2CallbackFunctions *functions, int visible, int logging)
{
    const fmi2Logger log = functions ? functions->logger : NULL;
    void *environment = functions ? functions->environment : NULL;
    const char *why;
    Instance *c = new_instance(name, token, type == fmi2ModelExchange ? EXCHANGE : 0, &why);
    if (c)
        c->environment = environment, c->log = (void (*)(void))log, c->log_message = log_message;
    else if (log)
        log(environment, name ? name : "", fmiError, "logStatusError", "%s", why);
    return c;
}

static int set_experiment(Instance *c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    const int status = set_up(c, has_tolerance, tolerance, start, has_stop, stop);
    c->s.phase = MADE;
    return status;
}

FUNCTION(SetupExperiment, MADE, (void *instance, int has_tolerance, double tolerance, double start, int has_stop, double stop),
         set_experiment(c, has_tolerance, tolerance, start, has_stop, stop))
FUNCTION(EnterInitializationMode, MADE, (void *instance), (c->s.phase = SETUP, FINE))

FUNCTION(GetReal, ANY, (void *instance, REFERENCES, double values[]), get_values(c, references, count, values, count, 0))
FUNCTION(SetReal, BEFORE_END, (void *instance, REFERENCES, const double values[]),
         set_values(c, references, count, values, count, 0))
FUNCTION(GetInteger, ANY, (void *instance, REFERENCES, int values[]), get_wholes(c, references, count, values, count))
FUNCTION(SetInteger, BEFORE_END, (void *instance, REFERENCES, const int values[]),
         set_wholes(c, references, count, values, count))
ABSENT(GetBoolean, n, const uint32_t r[], size_t n, int v[])
ABSENT(SetBoolean, n, const uint32_t r[], size_t n, const int v[])
ABSENT(GetString, n, const uint32_t r[], size_t n, const char *v[])
ABSENT(SetString, n, const uint32_t r[], size_t n, const char *const v[])
ABSENT(SetRealInputDerivatives, n, const uint32_t r[], size_t n, const int orders[], const double v[])
ABSENT(GetRealOutputDerivatives, n, const uint32_t r[], size_t n, const int orders[], double v[])

FUNCTION(GetDirectionalDerivative, SHOWN | STEPPING,
         (void *instance, const uint32_t unknowns[], size_t m, const uint32_t knowns[], size_t n, const double seed[], double values[]),
         derivative(c, unknowns, m, knowns, n, seed, n, values, m, 0))

static int new_states(Instance *c, fmi2EventInfo *info)
{
    int jumps = 0;
    memset(info, 0, sizeof *info);
    const int status = update(c, &jumps, &info->nextEventTime);
    info->terminateSimulation = status == RUN_ENDS;
    info->valuesOfContinuousStatesChanged = jumps;
    info->nextEventTimeDefined = status == FINE && isfinite(info->nextEventTime);
    return status;
}

FUNCTION(NewDiscreteStates, EVENTS, (void *instance, fmi2EventInfo *info), new_states(c, info))

static int discarded(int status)
{
    return status == RUN_ENDS ? DISCARDED : status;
}

FUNCTION(DoStep, STEPPING, (void *instance, double from, double length, int no_return),
         (discarded(take_step(c, from, length))))
FUNCTION(CancelStep, STEPPING, (void *instance), refuse(c, "steps are not asynchronous"))
FUNCTION(GetStatus, ANY, (void *instance, fmi2StatusKind kind, Status *value), (DISCARDED))
FUNCTION(GetRealStatus, ANY, (void *instance, fmi2StatusKind kind, double *value),
         kind == fmi2LastSuccessfulTime ? (*value = c->s.start + c->s.now, FINE) : DISCARDED)
FUNCTION(GetIntegerStatus, ANY, (void *instance, fmi2StatusKind kind, int *value), (DISCARDED))
FUNCTION(GetBooleanStatus, ANY, (void *instance, fmi2StatusKind kind, int *value),
         kind == fmi2Terminated ? (*value = c->s.over == RUN_ENDS, FINE) : DISCARDED)
FUNCTION(GetStringStatus, ANY, (void *instance, fmi2StatusKind kind, const char **value), (DISCARDED))
