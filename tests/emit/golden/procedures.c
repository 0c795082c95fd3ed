#ifdef __FAST_MATH__
#error "numbers that are not finite are met here, and sums are not to be reordered: no -ffast-math"
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
    int64_t l6;
    l1 = 0.0;
    int64_t v4 = load_i64(c + 8 * 1);
    l6 = 0;
head5:;
    int64_t v9 = l6;
    bool v10 = v9 < v4;
    if (!v10) goto done5;
    double v12 = l1;
    char *v14 = load_ptr(c + 8 * 0);
    double v16 = load_double(v14 + 8 * v9);
    double v17 = maxnum(v12, v16);
    l1 = v17;
    int64_t v20 = l6;
    int64_t v21 = (int64_t)((uint64_t)v20 + (uint64_t)1);
    l6 = v21;
    goto head5;
done5:;
    double v24 = l1;
    store_double(c + 8 * 2, v24);
    char *v27 = load_ptr(c + 8 * 3);
    bool v28 = v27 != NULL;
    double v30 = l1;
    bool v31 = v30 < 1.5;
    bool v32 = !v31;
    bool v33 = v28 & v32;
    if (!v33) goto end34;
    char *v36 = load_ptr(c + 8 * 3);
    ((int32_t (*)(char *, int32_t))(uintptr_t)v36)((char *)&l1, 3);
end34:;
    return;
}

int64_t halves(char *c, double least)
{
    double l6;
    int64_t l8;
    bool v1 = least > 0.0;
    bool v2 = !v1;
    if (!v2) goto end3;
    return -1;
end3:;
    largest(c);
    double v5 = load_double(c + 8 * 2);
    l6 = v5;
    l8 = 0;
head10:;
    double v12 = l6;
    bool v13 = v12 < least;
    if (!v13) goto end14;
    goto done10;
end14:;
    double v16 = l6;
    double v17 = v16 / 2.0;
    l6 = v17;
    int64_t v20 = l8;
    int64_t v21 = (int64_t)((uint64_t)v20 + (uint64_t)1);
    l8 = v21;
    goto head10;
done10:;
    int64_t v24 = l8;
    return v24;
}
