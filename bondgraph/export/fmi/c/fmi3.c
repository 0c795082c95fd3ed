/* The functions of version 3.0.2 of the standard, sections 2.2 to 4.2, that version 2.0 lacks or defines differently. */
typedef void (*fmi3Logger)(void *environment, Status, const char *category, const char *message);
typedef void (*fmi3Callback)(void); /* the FMU calls no other callback */

STATES_AND_RATES(FMUState, Deserialize, GetContinuousStateDerivatives)

EXPORT const char *NAMED(GetVersion)(void)
{
    return "3.0";
}

static void log_message(void *instance, int failed, const char *text)
{
    Instance *c = instance;
    if (c->log)
        ((fmi3Logger)c->log)(c->environment, failed ? fmiError : fmiOK, failed ? "logStatusError" : "logEvents", text);
}

static void *logging_instance(const char *name, const char *token, int kind, void *environment, fmi3Logger log)
{
    const char *why;
    Instance *c = new_instance(name, token, kind, &why);
    if (c)
        c->environment = environment, c->log = (void (*)(void))log, c->log_message = log_message;
    else if (log)
        log(environment, fmiError, "logStatusError", why);
    return c;
}

EXPORT void *NAMED(InstantiateModelExchange)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                             void *environment, fmi3Logger log)
{
    return logging_instance(name, token, EXCHANGE, environment, log);
}

EXPORT void *NAMED(InstantiateCoSimulation)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                            bool event_mode, bool early_return, const uint32_t intermediate[], size_t count,
                                            void *environment, fmi3Logger log, fmi3Callback update)
{
    Instance *c = logging_instance(name, token, event_mode ? EVENT_MODE : 0, environment, log);
    if (c)
        c->returns_early = event_mode && early_return;
    return c;
}

EXPORT void *NAMED(InstantiateScheduledExecution)(const char *name, const char *token, const char *resources, bool visible,
                                                  bool logging, void *environment, fmi3Logger log, fmi3Callback update,
                                                  fmi3Callback lock, fmi3Callback unlock)
{
    if (log)
        log(environment, fmiError, "logStatusError", "scheduled execution is not supported");
    return NULL;
}

FUNCTION(EnterInitializationMode, MADE,
         (void *instance, bool has_tolerance, double tolerance, double start, bool has_stop, double stop),
         set_up(c, has_tolerance, tolerance, start, has_stop, stop))
FUNCTION(EnterConfigurationMode, MADE, (void *instance), refuse(c, "the model has no structural parameters"))
FUNCTION(ExitConfigurationMode, 0, (void *instance), FINE)

FUNCTION(GetFloat64, ANY, (void *instance, REFERENCES, double values[], size_t capacity),
         get_values(c, references, count, values, capacity, 0))
FUNCTION(SetFloat64, BEFORE_END, (void *instance, REFERENCES, const double values[], size_t given),
         set_values(c, references, count, values, given, 0))
FUNCTION(GetInt64, ANY, (void *instance, REFERENCES, int64_t values[], size_t capacity),
         get_wholes(c, references, count, values, capacity))
FUNCTION(SetInt64, BEFORE_END, (void *instance, REFERENCES, const int64_t values[], size_t given),
         set_wholes(c, references, count, values, given))
#define NO_VARIABLES(name, type) \
    ABSENT(JOINED(Get, name), n, const uint32_t r[], size_t n, type v[], size_t m) \
    ABSENT(JOINED(Set, name), n, const uint32_t r[], size_t n, const type v[], size_t m)
NO_VARIABLES(Float32, float)
NO_VARIABLES(Int8, int8_t)
NO_VARIABLES(UInt8, uint8_t)
NO_VARIABLES(Int16, int16_t)
NO_VARIABLES(UInt16, uint16_t)
NO_VARIABLES(Int32, int32_t)
NO_VARIABLES(UInt32, uint32_t)
NO_VARIABLES(UInt64, uint64_t)
NO_VARIABLES(Boolean, bool)
NO_VARIABLES(String, char *)
ABSENT(GetBinary, n, const uint32_t r[], size_t n, size_t sizes[], const uint8_t *v[], size_t m)
ABSENT(SetBinary, n, const uint32_t r[], size_t n, const size_t sizes[], const uint8_t *const v[], size_t m)
ABSENT(GetClock, n, const uint32_t r[], size_t n, bool v[])
ABSENT(SetClock, n, const uint32_t r[], size_t n, const bool v[])
ABSENT(GetIntervalDecimal, n, const uint32_t r[], size_t n, double v[], int q[])
ABSENT(GetIntervalFraction, n, const uint32_t r[], size_t n, uint64_t v[], uint64_t w[], int q[])
ABSENT(GetShiftDecimal, n, const uint32_t r[], size_t n, double v[])
ABSENT(GetShiftFraction, n, const uint32_t r[], size_t n, uint64_t v[], uint64_t w[])
ABSENT(SetIntervalDecimal, n, const uint32_t r[], size_t n, const double v[])
ABSENT(SetIntervalFraction, n, const uint32_t r[], size_t n, const uint64_t v[], const uint64_t w[])
ABSENT(SetShiftDecimal, n, const uint32_t r[], size_t n, const double v[])
ABSENT(SetShiftFraction, n, const uint32_t r[], size_t n, const uint64_t v[], const uint64_t w[])
ABSENT(GetOutputDerivatives, n, const uint32_t r[], size_t n, const int32_t orders[], double v[], size_t m)
ABSENT(ActivateModelPartition, 1, uint32_t r, double t)
ABSENT(GetNumberOfVariableDependencies, 1, uint32_t r, size_t *n)
ABSENT(GetVariableDependencies, 1, uint32_t r, size_t a[], uint32_t b[], size_t d[], int k[], size_t n)

#define OF_UNKNOWNS_AND_KNOWNS \
    (void *instance, const uint32_t unknowns[], size_t m, const uint32_t knowns[], size_t n, const double seed[], size_t seeds, \
     double values[], size_t capacity)
FUNCTION(GetDirectionalDerivative, SHOWN | STEPPING, OF_UNKNOWNS_AND_KNOWNS,
         derivative(c, unknowns, m, knowns, n, seed, seeds, values, capacity, 0))
FUNCTION(GetAdjointDerivative, SHOWN | STEPPING, OF_UNKNOWNS_AND_KNOWNS,
         derivative(c, unknowns, m, knowns, n, seed, seeds, values, capacity, 1))
FUNCTION(GetNumberOfEventIndicators, ANY, (void *instance, size_t *count), (*count = NG, FINE))
FUNCTION(GetNumberOfContinuousStates, ANY, (void *instance, size_t *count), (*count = NX, FINE))

static int new_states(Instance *c, bool *again, bool *ends, bool *nominals, bool *values, bool *has_next, double *next)
{
    int jumps = 0;
    const int status = c->s.kind & EXCHANGE ? update(c, &jumps, next) : pass_events(c, &jumps, next);
    *again = *nominals = false;
    *ends = status == RUN_ENDS;
    *values = jumps != 0;
    *has_next = status == FINE && isfinite(*next);
    return status;
}

FUNCTION(EvaluateDiscreteStates, SETUP | EVENTS, (void *instance), FINE)
FUNCTION(UpdateDiscreteStates, EVENTS,
         (void *instance, bool *again, bool *ends, bool *nominals, bool *values, bool *has_next, double *next),
         new_states(c, again, ends, nominals, values, has_next, next))

static int do_step(Instance *c, double from, double length, bool *event, bool *ends, bool *early, double *last)
{
    const int status = take_step(c, from, length);
    *event = status == FINE && c->s.kind == EVENT_MODE && has_pending(c, c->s.shown);
    *early = c->early;
    *ends = status == RUN_ENDS;
    *last = c->s.start + c->s.now;
    return status;
}

FUNCTION(EnterStepMode, EVENTS, (void *instance), enter(c, STEPPING))
FUNCTION(DoStep, STEPPING,
         (void *instance, double from, double length, bool no_return, bool *event, bool *ends, bool *early, double *last),
         (do_step(c, from, length, event, ends, early, last)))
