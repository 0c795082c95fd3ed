/* A controller as an FMU of FMI 2 or 3 (-DVERSION=...): y = gain e + sum, sum += e period at each step; fails where e > limit. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) fmi##a##b
#define JOIN(a, b) JOIN_(a, b)
#define FMI(name) JOIN(VERSION, name)
enum { INPUT, OUTPUT, GAIN, LIMIT, COUNT, ON, NUMBERS };

typedef struct { double value[NUMBERS], sum, time; void *logger; void *environment; } Instance;

int FMI_living;

static Instance *made(void *logger, void *environment)
{
    Instance *c = calloc(1, sizeof *c);
    c->value[GAIN] = 1.0;
    c->value[LIMIT] = 1e300;
    c->logger = logger;
    c->environment = environment;
    return c;
}

static int step(Instance *c, double time, double period)
{
    if (time < c->time || (c->value[ON] == 0.0 && c->value[COUNT] < 0.0))
        return 3;
    const double e = c->value[INPUT];
    if (e > c->value[LIMIT]) {
#if VERSION == 2
        ((void (*)(void *, const char *, int, const char *, const char *, ...))c->logger)(c->environment, "c", 3, "", "too much %d", 1);
#else
        ((void (*)(void *, int, const char *, const char *))c->logger)(c->environment, 3, "", "too much");
#endif
        return 3;
    }
    c->value[OUTPUT] = c->value[GAIN] * e + c->sum;
    c->sum += e * period;
    c->value[COUNT] += 1.0;
    c->value[ON] = c->value[OUTPUT] > 0.0;
    c->time = time;
    return 0;
}

#define GETTER(name, type, extra) \
    int FMI(Get##name)(Instance *c, const uint32_t *r, size_t n, type *v extra) \
    { for (size_t k = 0; k < n; k++) v[k] = (type)c->value[r[k]]; return 0; } \
    int FMI(Set##name)(Instance *c, const uint32_t *r, size_t n, const type *v extra) \
    { for (size_t k = 0; k < n; k++) c->value[r[k]] = (double)v[k]; return 0; }

void FMI(FreeInstance)(Instance *c) { free(c); }
int FMI(ExitInitializationMode)(Instance *c) { return c ? 0 : 3; }

#if VERSION == 2
GETTER(Real, double, )
GETTER(Integer, int, )
GETTER(Boolean, int, )
typedef struct { void *logger, *allocate, *release, *finished, *environment; } Callbacks;
void *fmi2Instantiate(const char *n, int type, const char *guid, const char *r, const Callbacks *f, int visible, int logging)
{
    return type == 1 && !strcmp(guid, "{token}") && n && r && !visible && logging ? made(f->logger, f->environment) : NULL;
}
int fmi2SetupExperiment(Instance *c, int a, double b, double start, int d, double e) { c->time = start + 0 * (a + b + d + e); return 0; }
int fmi2EnterInitializationMode(Instance *c) { return c ? 0 : 3; }
int fmi2DoStep(Instance *c, double time, double period, int none) { return none ? step(c, time, period) : 3; }
#else
#include <stdbool.h>
#define AND_COUNT , size_t m
GETTER(Float64, double, AND_COUNT)
GETTER(Int32, int32_t, AND_COUNT)
GETTER(Boolean, bool, AND_COUNT)
void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *r, bool visible, bool logging, bool events, bool early,
                                  const uint32_t *q, size_t nq, void *environment, void *logger, void *update)
{
    return !strcmp(token, "{token}") && n && r && !visible && logging && !events && !early && !q && !nq && !update
               ? made(logger, environment) : NULL;
}
int fmi3EnterInitializationMode(Instance *c, bool a, double b, double start, bool d, double e) { c->time = start + 0 * (a + b + d + e); return 0; }
int fmi3DoStep(Instance *c, double time, double period, bool none, bool *event, bool *ends, bool *early, double *last)
{
    *event = *ends = *early = false;
    *last = time + period;
    return none ? step(c, time, period) : 3;
}
#endif
