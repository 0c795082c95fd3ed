/* Two models with events by hand: a boost converter that switches at 50 kHz, and a ball that bounces.
 *
 * Dormand and Prince's method of order 8(5,3) with its dense output (coefficients.h is printed from the published tables),
 * step control as in the compiled runs, and events that are located on the dense output and reached by a separate step.
 * -DMODEL_BOOST or -DMODEL_BALL chooses the model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coefficients.h"

#if defined(MODEL_BOOST)
#define N 3 /* flux linkage, charge, time since the last switching */
enum { CLOSED, OPEN };
static const double L = 100e-6, C = 100e-6, R = 10.0, BATTERY = 12.0, HALF = 0.5 / 50e3;
static const double START[N] = {100e-6 * 4.0, 100e-6 * 24.0, 0.0}, USUAL[N] = {1e-4, 1e-3, 0.0};

static void rates(int mode, const double *x, double *dx) {
    double voltage = x[1] / C;
    double current = mode == CLOSED ? 0.0 : x[0] / L;
    dx[0] = mode == CLOSED ? BATTERY : BATTERY - voltage;
    dx[1] = current - voltage / R;
    dx[2] = 1.0;
}
static double guard(int mode, const double *x) { (void)mode; return x[2] - HALF; }
static int turn(int mode, double t, double *x) {
    (void)t;
    x[2] = 0.0;
    return 1 - mode;
}
#else
#define N 2 /* height, momentum */
enum { FREE, RESTING };
static const double START[N] = {1.0, 0.0}, USUAL[N] = {0.0, 0.0}, WEIGHT = 9.81, RESTITUTION = 0.8;

static void rates(int mode, const double *x, double *dx) {
    dx[0] = mode == FREE ? x[1] : 0.0;
    dx[1] = mode == FREE ? -WEIGHT : 0.0;
}
static double guard(int mode, const double *x) { return mode == FREE && x[1] < 0.0 ? -x[0] : -1.0; }
static int turn(int mode, double t, double *x) {
    static double last;
    double flight = t - last;
    last = t;
    x[1] = -RESTITUTION * x[1];
    if (2.0 * x[1] / WEIGHT / (1.0 - RESTITUTION) < 1e-7 * 6.0 && flight < 1.0) {
        x[0] = x[1] = 0.0;
        return RESTING;
    }
    return mode;
}
#endif

typedef struct {
    double t, end, h, x[N], size[N], k[16][N], f[7][N], new_x[N];
    int mode;
    long steps, events;
} Run;

static const double RTOL = 1e-9, LONGEST_PART = 0.01;

static double attempt(Run *r, double h) {
    double y[N], fifth = 0.0, third = 0.0;
#define STAGE(s)                                                                       \
    for (int i = 0; i < N; i++) y[i] = r->x[i] + h * SUM_##s(r->k, i);                 \
    rates(r->mode, y, r->k[s])
    STAGE(1); STAGE(2); STAGE(3); STAGE(4); STAGE(5); STAGE(6); STAGE(7); STAGE(8); STAGE(9); STAGE(10); STAGE(11);
    for (int i = 0; i < N; i++) r->new_x[i] = r->x[i] + h * SUM_12(r->k, i);
    rates(r->mode, r->new_x, r->k[12]);
    for (int i = 0; i < N; i++) {
        double own = fmax(fmax(r->size[i], USUAL[i] * 0.1), fmax(fabs(r->x[i]), fabs(r->new_x[i])));
        double scale = RTOL * own, a = ERROR_5(r->k, i), b = ERROR_3(r->k, i);
        a = a == 0.0 ? 0.0 : a / scale;
        b = b == 0.0 ? 0.0 : b / scale;
        fifth += a * a;
        third += b * b;
    }
    return fifth + third == 0.0 ? 0.0 : fabs(h) * fifth / sqrt(fifth + 0.01 * third);
}

static void prepare(Run *r, double h) {
    double y[N];
    STAGE(13); STAGE(14); STAGE(15);
    for (int i = 0; i < N; i++) {
        double step = r->new_x[i] - r->x[i], first = h * r->k[0][i], last = h * r->k[12][i];
        r->f[0][i] = step;
        r->f[1][i] = first - step;
        r->f[2][i] = 2.0 * step - (first + last);
        r->f[3][i] = h * DENSE_0(r->k, i);
        r->f[4][i] = h * DENSE_1(r->k, i);
        r->f[5][i] = h * DENSE_2(r->k, i);
        r->f[6][i] = h * DENSE_3(r->k, i);
    }
}

static void dense(const Run *r, double theta, double *out) {
    for (int i = 0; i < N; i++) {
        double total = r->f[6][i] * theta;
        for (int row = 5; row >= 0; row--) total = (total + r->f[row][i]) * ((6 - row) % 2 ? 1.0 - theta : theta);
        out[i] = r->x[i] + total;
    }
}

static double guard_at(const Run *r, double theta) {
    double y[N];
    dense(r, theta, y);
    return guard(r->mode, y);
}

/* Fraction of the step at which the guard rises to zero (Illinois). */
static double root(const Run *r, double below, double above) {
    double low = 0.0, high = 1.0;
    int side = 0;
    for (int k = 0; k < 80; k++) {
        if (high - low <= 2.3e-16 * fmax(1.0, r->t / r->h) || above == 0.0) break;
        double theta = low + (high - low) * (below / (below - above));
        if (!(theta > low && theta < high)) theta = 0.5 * (low + high);
        double value = guard_at(r, theta);
        if (value >= 0.0) {
            high = theta, above = value;
            if (side == 1) below *= 0.5;
            side = 1;
        } else {
            low = theta, below = value;
            if (side == -1) above *= 0.5;
            side = -1;
        }
    }
    return high;
}

static void samples_until(Run *r, const double *times, int count, int *written, double *rows, double t_new, double h) {
    int prepared = 0;
    while (*written < count && times[*written] <= t_new) {
        double *row = rows + N * *written;
        if (times[*written] == t_new) memcpy(row, r->new_x, sizeof r->new_x);
        else {
            if (!prepared) prepare(r, h), prepared = 1;
            dense(r, (times[*written] - r->t) / h, row);
        }
        ++*written;
    }
}

static void accept(Run *r, double t_new) {
    memcpy(r->x, r->new_x, sizeof r->x);
    memcpy(r->k[0], r->k[12], sizeof r->k[0]);
    for (int i = 0; i < N; i++) r->size[i] = fmax(r->size[i], fabs(r->x[i]));
    r->t = t_new;
    r->steps++;
}

/* Size of the first step after the start or an event, from two evaluations (Hairer, Norsett, Wanner, II.4). */
static double first_step(Run *r, double longest) {
    double size = 0.0, speed = 0.0, bend = 0.0, y[N], later[N];
    for (int i = 0; i < N; i++) {
        double scale = RTOL * fmax(fmax(r->size[i], USUAL[i] * 0.1), fabs(r->x[i]));
        if (scale == 0.0) continue;
        size += r->x[i] / scale * (r->x[i] / scale);
        speed += r->k[0][i] / scale * (r->k[0][i] / scale);
    }
    size = sqrt(size), speed = sqrt(speed);
    double h = size < 1e-5 || speed * longest < 1e-5 ? 1e-6 * longest : fmin(0.01 * size / speed, longest);
    for (int i = 0; i < N; i++) y[i] = r->x[i] + h * r->k[0][i];
    rates(r->mode, y, later);
    for (int i = 0; i < N; i++) {
        double scale = RTOL * fmax(fmax(r->size[i], USUAL[i] * 0.1), fabs(r->x[i])), part = later[i] - r->k[0][i];
        if (scale > 0.0) bend += part / scale * (part / scale);
    }
    bend = sqrt(bend) / h;
    double fast = fmax(speed, bend * h), tau = fast / bend;
    return fmin(longest, bend > 0.0 ? fmin(100.0 * h, tau * pow(0.01 / (fast * tau), 0.125)) : 100.0 * h);
}

void simulate(double end, const double *times, int count, double *rows, double *final, long *counts) {
    static Run run;
    Run *r = &run;
    memset(r, 0, sizeof *r);
    memcpy(r->x, START, sizeof r->x);
    int written = 0;
    r->end = end;
    double longest = LONGEST_PART * end, now = -1.0, grow = 6.0;
    int fresh = 1;
    for (;;) {
        if (fresh) {
            rates(r->mode, r->x, r->k[0]);
            for (int i = 0; i < N; i++) r->size[i] = fmax(r->size[i], fabs(r->x[i]));
            r->h = first_step(r, fmin(longest, end - r->t));
            now = guard(r->mode, r->x);
            fresh = 0;
        }
        if (end - r->t <= 3.6e-15 * r->t) break;
        double h = fmin(r->h, longest);
        int last = r->t + 1.01 * h >= end;
        if (last) h = end - r->t;
        double t_new = last ? end : r->t + h, error = attempt(r, h);
        if (!(error <= 1.0)) {
            r->h = h * fmax(0.2, 0.9 / sqrt(sqrt(sqrt(error))));
            grow = 1.0;
            continue;
        }
        double after = guard(r->mode, r->new_x);
        if (now < 0.0 && after >= 0.0) {
            prepare(r, h);
            r->h = h;
            double theta = root(r, now, after);
            double slope = (guard_at(r, theta + 1e-4) - guard_at(r, theta - 1e-4)) / (2e-4 * h), landing = theta * h;
            for (int k = 0; k < 4; k++) {
                attempt(r, landing);
                double shift = guard(r->mode, r->new_x) / slope;
                if (!(fabs(shift) > 4.4e-16 * (r->t + h) && fabs(shift) < 0.05 * h)) break;
                landing -= shift;
            }
            samples_until(r, times, count, &written, rows, r->t + landing, landing);
            accept(r, r->t + landing);
            r->mode = turn(r->mode, r->t, r->x);
            r->events++;
            fresh = 1;
            continue;
        }
        samples_until(r, times, count, &written, rows, t_new, h);
        accept(r, t_new);
        now = after;
        r->h = h * fmin(grow, fmax(0.2, 0.9 / sqrt(sqrt(sqrt(fmax(error, 1e-30))))));
        grow = 6.0;
    }
    while (written < count) memcpy(rows + N * written++, r->x, sizeof r->x);
    memcpy(final, r->x, sizeof r->x);
    counts[0] = r->events, counts[1] = r->steps;
}
