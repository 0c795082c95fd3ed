#ifdef __FAST_MATH__
#error "compile without -ffast-math: numbers may not be finite, and sums must not be reordered"
#endif

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline double load_double(const char *place)
{
    double x;
    memcpy(&x, place, sizeof x);
    return x;
}

static inline void store_double(char *place, double value)
{
    double x = value;
    memcpy(place, &x, sizeof x);
}

static inline int64_t load_i64(const char *place)
{
    int64_t x;
    memcpy(&x, place, sizeof x);
    return x;
}

static inline char *load_ptr(const char *place)
{
    uint64_t x;
    memcpy(&x, place, sizeof x);
    return (char *)(uintptr_t)x;
}

static inline double maxnum(double x, double y)
{
    return y > x || x != x ? y : x;
}

static void largest(char *c);
int64_t halves(char *c, double least);

static void largest(char *c)
{
    double l1;
    int64_t l8;
    double l32;
    l1 = 0.0;
    int64_t v3 = load_i64(c + 8 * 1);
    l8 = 0;
label4:;
    int64_t v9 = l8;
    bool v10 = v9 < v3;
    if (!v10) goto label7;
    double v11 = l1;
    char *v13 = load_ptr(c + 8 * 0);
    double v15 = load_double(v13 + 8 * v9);
    double v16 = maxnum(v11, v15);
    l1 = v16;
    int64_t v17 = (int64_t)((uint64_t)v9 + (uint64_t)1);
    l8 = v17;
    goto label4;
label7:;
    double v18 = l1;
    store_double(c + 8 * 2, v18);
    char *v25 = load_ptr(c + 8 * 3);
    bool v26 = v25 != NULL;
    if (!v26) goto label21;
    double v27 = l1;
    bool v28 = v27 < 1.5;
    if (v28) goto label21; else goto label20;
label20:;
    char *v30 = load_ptr(c + 8 * 3);
    double v31 = l1;
    l32 = v31;
    ((void (*)(char *))(uintptr_t)v30)((char *)&l32);
    goto label22;
label21:;
label22:;
    return;
}

int64_t halves(char *c, double least)
{
    double l7;
    int64_t l8;
    bool v4 = least > 0.0;
    if (v4) goto label2; else goto label1;
label1:;
    return -1;
label2:;
    largest(c);
    double v6 = load_double(c + 8 * 2);
    l7 = v6;
    l8 = 0;
label9:;
    double v13 = l7;
    bool v14 = v13 < least;
    if (v14) goto label11; else goto label10;
label10:;
    double v15 = l7;
    double v16 = v15 / 2.0;
    l7 = v16;
    int64_t v17 = l8;
    int64_t v18 = (int64_t)((uint64_t)v17 + (uint64_t)1);
    l8 = v18;
    goto label9;
label11:;
    int64_t v19 = l8;
    return v19;
}
