/* A unit of FMI 2 or 3 (-DVERSION=...): a controller, effort = gain error + sum, where a step adds error x period to the sum and fails
 * where error > limit; feedthroughs of three types; a stair that rises at each 10 ms; and an output that only steps compute. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOIN_(a, b) fmi##a##b
#define JOIN(a, b) JOIN_(a, b)
#define FMI(name) JOIN(VERSION, name)
enum { ERROR, EFFORT, GAIN, LIMIT, STEPS, ON, WHOLE, WHOLE_OUT, FLAG, FLAG_OUT, SMALL, SMALL_OUT, STAIR, LATE, MEET, NUMBERS };

typedef struct { double value[NUMBERS], sum, start, time; void *logger; void *environment; } Instance;

int living;
static atomic_long arrived;

static Instance *made(void *logger, void *environment)
{
    Instance *c = calloc(1, sizeof *c);
    c->value[GAIN] = 1.0;
    c->value[LIMIT] = 1e300;
    c->logger = logger;
    c->environment = environment;
    living++;
    return c;
}

static int step(Instance *c, double time, double period)
{
    const double e = c->value[ERROR];
    if (time != c->start + c->value[STEPS] * period) /* a grid of its own, count x period */
        return 3;
    if (e > c->value[LIMIT]) {
#if VERSION == 2
        ((void (*)(void *, const char *, int, const char *, const char *, ...))c->logger)(c->environment, "c", 3, "", "too much %d", 1);
#else
        ((void (*)(void *, int, const char *, const char *))c->logger)(c->environment, 3, "", "too much");
#endif
        return 3;
    }
    if (c->value[MEET] != 0.0) {
        const long both = (atomic_fetch_add(&arrived, 1) / 2 + 1) * 2;
        for (int k = 0; atomic_load(&arrived) < both; k++)
            if (usleep(200) || k > 100000)
                return 3;
    }
    c->sum = fma(e, period, c->sum);
    c->value[STEPS] += 1.0;
    c->value[LATE] = e;
    c->time = c->start + c->value[STEPS] * period;
    return 0;
}

static double got(Instance *c, uint32_t reference)
{
    switch (reference) {
    case EFFORT: return fma(c->value[GAIN], c->value[ERROR], c->sum);
    case ON: return fma(c->value[GAIN], c->value[ERROR], c->sum) > 0.0;
    case WHOLE_OUT: case FLAG_OUT: case SMALL_OUT: return c->value[reference - 1];
    case STAIR: return 1 + (int)(c->time / 0.01 + 1e-9);
    default: return c->value[reference];
    }
}

#define ACCESS(name, type, extra) \
    int FMI(Get##name)(Instance *c, const uint32_t *r, size_t n, type *v extra) \
    { for (size_t k = 0; k < n; k++) v[k] = (type)got(c, r[k]); return 0; } \
    int FMI(Set##name)(Instance *c, const uint32_t *r, size_t n, const type *v extra) \
    { for (size_t k = 0; k < n; k++) c->value[r[k]] = (double)v[k]; return 0; }

void FMI(FreeInstance)(Instance *c) { free(c); living--; }
int FMI(ExitInitializationMode)(Instance *c) { return c ? 0 : 3; }

#if VERSION == 2
ACCESS(Real, double, )
ACCESS(Integer, int, )
ACCESS(Boolean, int, )
typedef struct { void *logger, *allocate, *release, *finished, *environment; } Callbacks;
void *fmi2Instantiate(const char *n, int type, const char *guid, const char *r, const Callbacks *f, int visible, int logging)
{
    return type == 1 && !strcmp(guid, "{token}") && n && r && !visible && logging ? made(f->logger, f->environment) : NULL;
}
int fmi2SetupExperiment(Instance *c, int a, double b, double start, int d, double e) { c->start = c->time = start + 0 * (a + b + d + e); return 0; }
int fmi2EnterInitializationMode(Instance *c) { return c ? 0 : 3; }
int fmi2DoStep(Instance *c, double time, double period, int none) { return none ? step(c, time, period) : 3; }
#else
#include <stdbool.h>
#define AND_COUNT , size_t m
ACCESS(Float64, double, AND_COUNT)
ACCESS(Float32, float, AND_COUNT)
ACCESS(Int8, int8_t, AND_COUNT)
ACCESS(UInt64, uint64_t, AND_COUNT)
ACCESS(Int32, int32_t, AND_COUNT)
ACCESS(Boolean, bool, AND_COUNT)
void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *r, bool visible, bool logging, bool events, bool early,
                                  const uint32_t *q, size_t nq, void *environment, void *logger, void *update)
{
    return !strcmp(token, "{token}") && n && r && !visible && logging && !events && !early && !q && !nq && !update
               ? made(logger, environment) : NULL;
}
int fmi3EnterInitializationMode(Instance *c, bool a, double b, double start, bool d, double e) { c->start = c->time = start + 0 * (a + b + d + e); return 0; }
int fmi3DoStep(Instance *c, double time, double period, bool none, bool *event, bool *ends, bool *early, double *last)
{
    *event = *ends = *early = false;
    *last = time + period;
    return none ? step(c, time, period) : 3;
}
#endif
