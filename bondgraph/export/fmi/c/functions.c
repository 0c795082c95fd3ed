/* The functions of the Functional Mock-up Interface that versions 2.0 and 3.0 share. The standard's types are types of C here:
 * fmi2Real and fmi3Float64 are double, an instance, its environment and a state are void *, a value reference is uint32_t. */
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define TEXT_(words) #words
#define TEXT(words) TEXT_(words)
#if BY_ELEMENT
#define FMI fmi2
typedef int Boolean;
#ifdef FMI2_FUNCTION_PREFIX
#define PREFIX FMI2_FUNCTION_PREFIX
#endif
#else
#define FMI fmi3
typedef bool Boolean;
#ifdef FMI3_FUNCTION_PREFIX
#define PREFIX FMI3_FUNCTION_PREFIX
#endif
#endif
#ifndef PREFIX
#define PREFIX
#endif
#define NAMED(name) JOINED(PREFIX, JOINED(FMI, name))
typedef enum { fmiOK, fmiWarning, fmiDiscard, fmiError, fmiFatal } Status;

enum { SHOWN = SETUP | EVENTS | CONTINUOUS | ENDED, ANY = MADE | STEPPING | SHOWN, BEFORE_END = ANY & ~ENDED };

static Status status_of(int result)
{
    return result == FINE || result == RUN_ENDS ? fmiOK : result == DISCARDED ? fmiDiscard : fmiError;
}

/* A function of the standard: its name, the phases in which it may be called, its parameters, and what it does. */
#define FUNCTION(name, phases, parameters, ...) \
    EXPORT Status NAMED(name) parameters \
    { \
        Instance *c = instance; \
        return !c || out_of_order(c, phases, TEXT(JOINED(FMI, name))) ? fmiError : status_of((__VA_ARGS__)); \
    }
#define REFERENCES const uint32_t references[], size_t count

/* Functions for features that no model has: they fail unless they are called for zero items. */
#define ABSENT(name, count, ...) \
    FUNCTION(name, ANY, (void *instance, __VA_ARGS__), (count) ? refuse(c, "the model does not support %s", TEXT(name)) : FINE)

EXPORT void NAMED(FreeInstance)(void *instance)
{
    free_instance(instance);
}

FUNCTION(SetDebugLogging, ANY, (void *instance, Boolean on, size_t count, const char *const categories[]), FINE)
FUNCTION(ExitInitializationMode, SETUP, (void *instance), begin_phase(c))
FUNCTION(EnterEventMode, STEPPING | CONTINUOUS | EVENTS, (void *instance), enter(c, EVENTS))
FUNCTION(EnterContinuousTimeMode, EVENTS, (void *instance), enter(c, CONTINUOUS))
FUNCTION(Terminate, STEPPING | EVENTS | CONTINUOUS, (void *instance), (c->s.phase = ENDED, FINE))
FUNCTION(Reset, ANY, (void *instance), (load_start(c), FINE))
FUNCTION(CompletedIntegratorStep, CONTINUOUS, (void *instance, Boolean no_return, Boolean *events, Boolean *ends),
         (*events = *ends = 0, complete_step(c)))
FUNCTION(SetTime, EVENTS | CONTINUOUS, (void *instance, double time), set_time(c, time))
FUNCTION(SetContinuousStates, EVENTS | CONTINUOUS, (void *instance, const double states[], size_t count),
         set_states(c, states, count))
FUNCTION(GetContinuousStates, SHOWN, (void *instance, double values[], size_t count), copy(c, values, count, c->s.x, NX))
FUNCTION(GetEventIndicators, SHOWN, (void *instance, double values[], size_t count), copy(c, values, count, indicators(c), NG))
FUNCTION(GetNominalsOfContinuousStates, ANY, (void *instance, double values[], size_t count), copy(c, values, count, nominal, NX))

/* Functions for saved states and for rates, whose names differ between versions. */
#define STATES_AND_RATES(state, Read, Rates) \
    FUNCTION(JOINED(Get, state), ANY, (void *instance, void **saved), save(c, saved)) \
    FUNCTION(JOINED(Set, state), ANY, (void *instance, void *saved), restore(c, saved)) \
    FUNCTION(JOINED(Free, state), ANY, (void *instance, void **saved), forget(saved)) \
    FUNCTION(JOINED(Serialized, JOINED(state, Size)), ANY, (void *instance, void *saved, size_t *size), \
             (*size = sizeof(Saved), FINE)) \
    FUNCTION(JOINED(Serialize, state), ANY, (void *instance, void *saved, uint8_t bytes[], size_t capacity), \
             serialize(c, saved, bytes, capacity)) \
    FUNCTION(JOINED(Read, state), ANY, (void *instance, const uint8_t bytes[], size_t size, void **saved), \
             deserialize(c, bytes, size, saved)) \
    FUNCTION(Rates, SHOWN, (void *instance, double values[], size_t count), copy(c, values, count, rates(c), NX))
