/* The equations of two eggs in contact, written by hand: the reference for the compiled right-hand side.
 *
 * Scenario S2a: egg 2 rolls round the fixed egg 1, which attracts it (v_x, v_y, v_z, omega_z constrained).
 * Scenario S1a: both eggs are free and frictionless (v_z constrained).
 * States, modes and signs are those of the graphs in models/. Everything is computed in the axes of body 2; the inertia is
 * diagonal about the centre of mass, chart 0 has the closed forms of a surface of revolution, chart 1 those of the oval in
 * polar coordinates about its focus. Contact coordinates are corrected towards the closest points of the poses; the
 * components of the springs are those in the Gauss frame.
 *
 *   x of S2a: P2 (6), quaternion and position of 2 (7), spring (omega_z, v_x, v_y, v_z), u1 v1 u2 v2 alpha d, r (3)
 *   x of S1a: P2 (6), quaternion and position of 2 (7), spring (v_z), u1 v1 u2 v2 alpha d, P1 (6), pose of 1 (7)
 *   m: contact (0 free, 1 contact), chart of surface 1, chart of surface 2 (0 axis z, 1 axis x)
 *   p of S2a: 1/m2, 1/I2 (3), k (4), c (4), force, egg 1 (4), egg 2 (4);  an egg: f, 2 S, 3 (S^2 - f^2), zB
 *   p of S1a: 1/m2, 1/I2 (3), k, c, egg 1 (4), egg 2 (4), 1/m1, 1/I1 (3)
 */
#include "spatial.h"

/* --- the egg: rho(w) n + zB k, rho = (b - D) / 3, b = 2 S + f w, D = sqrt(b^2 - 3 (S^2 - f^2)) ---------------------- */

/* Gauss frame (columns x y z in rows of R, point c) and the forms M11 M12 M22, K11 K12 K22, T1 T2 */
INLINE void egg_axis_z(const double q[2], const double e[4], double R[9], double c[3], double G[8])
{
    double su, cu, sv, cv;
    sine_cosine(q[0], &su, &cu);
    sine_cosine(q[1], &sv, &cv);
    const double fs = e[0] * su, b = e[1] + e[0] * cu, over_D = 1.0 / sqrt(b * b - e[2]);
    const double rho = (b - (b * b - e[2]) * over_D) * (1.0 / 3.0);
    const double rho1 = fs * rho * over_D;
    const double rho2 = e[0] * (cu * rho + su * rho1) * over_D + fs * fs * rho * b * over_D * over_D * over_D;
    const double hh = rho * rho + rho1 * rho1, over_h = 1.0 / sqrt(hh);
    const double r = rho * su, r1 = (rho1 * su + rho * cu) * over_h, z1 = (rho1 * cu - rho * su) * over_h;
    const double over_r = 1.0 / r;
    R[0] = r1 * cv, R[1] = -sv, R[2] = -z1 * cv;
    R[3] = r1 * sv, R[4] = cv, R[5] = -z1 * sv;
    R[6] = z1, R[7] = 0.0, R[8] = r1;
    c[0] = r * cv, c[1] = r * sv, c[2] = e[3] + rho * cu;
    G[0] = hh * over_h, G[1] = 0.0, G[2] = r;
    G[3] = (hh + rho1 * rho1 - rho * rho2) * over_h * over_h * over_h, G[4] = 0.0, G[5] = -z1 * over_r;
    G[6] = 0.0, G[7] = r1 * over_r;
}

/* axis x: n = (cos u, sin u cos v, sin u sin v); e = n_u, g = n_v / sin u are orthonormal, c_s along e, c_t along g */
INLINE void egg_axis_x(const double q[2], const double p[4], double R[9], double c[3], double G[8])
{
    double su, cu, sv, cv;
    sine_cosine(q[0], &su, &cu);
    sine_cosine(q[1], &sv, &cv);
    const double n[3] = {cu, su * cv, su * sv}, e[3] = {-su, cu * cv, cu * sv}, g[3] = {0.0, -sv, cv};
    const double w = n[2], b = p[1] + p[0] * w, over_D = 1.0 / sqrt(b * b - p[2]);
    const double rho = (b - (b * b - p[2]) * over_D) * (1.0 / 3.0), rho1 = -p[0] * rho * over_D;
    const double rho2 = p[0] * p[2] * p[0] * (1.0 / 3.0) * over_D * over_D * over_D;
    const double rho_s = rho1 * e[2], rho_t = rho1 * g[2];
    const double bend_s = rho2 * e[2] * e[2] - rho1 * w - rho, rho_st = rho2 * e[2] * g[2];
    const double bend_t = rho2 * g[2] * g[2] - rho1 * w - rho;
    const double E = rho * rho + rho_s * rho_s, over_m = 1.0 / sqrt(E);
    const double N = sqrt(rho * rho + rho1 * rho1 * (1.0 - w * w)), over_N = 1.0 / N;
    const double m11 = E * over_m, m12 = rho_s * rho_t * over_m, m22 = rho * N * over_m, over_m22 = 1.0 / m22;
    const double x[3] = {(rho * e[0] + rho_s * n[0]) * over_m, (rho * e[1] + rho_s * n[1]) * over_m,
                         (rho * e[2] + rho_s * n[2]) * over_m};
    const double a = (rho + rho1 * w) * over_N;
    const double z[3] = {a * n[0], a * n[1], a * w - rho1 * over_N};
    double y[3];
    cross(z, x, y);
    for (int i = 0; i < 3; i++)
        R[3 * i] = x[i], R[3 * i + 1] = y[i], R[3 * i + 2] = z[i];
    c[0] = rho * n[0], c[1] = rho * n[1], c[2] = rho * w + p[3];
    const double L = (rho * bend_s - 2.0 * rho_s * rho_s) * over_N;
    const double O = (rho * rho_st - 2.0 * rho_s * rho_t) * over_N;
    const double Q = (rho * bend_t - 2.0 * rho_t * rho_t) * over_N;
    const double slant = m12 * over_m, skew = O - slant * L;
    const double x_ss = (2.0 * rho * rho_s + rho_s * bend_s) * over_m, x_st = (rho * rho_t + rho_s * rho_st) * over_m;
    const double y_ss = (rho_t * bend_s - m12 * x_ss) * over_m22;
    const double y_st = (rho * rho_s + rho_t * rho_st - m12 * x_st) * over_m22;
    G[0] = m11, G[1] = m12 * su, G[2] = m22 * su;
    G[3] = -L * over_m * over_m, G[4] = -skew * over_m * over_m22;
    G[5] = (slant * (O + skew) - Q) * over_m22 * over_m22;
    G[6] = y_ss * over_m * over_m;
    G[7] = (y_st * over_m - G[6] * m12) * over_m22 + cu / su * over_m;
}

INLINE void egg(const double q[2], double chart, const double p[4], double R[9], double c[3], double G[8])
{
    if (chart == 0.0)
        egg_axis_z(q, p, R, c, G);
    else
        egg_axis_x(q, p, R, c, G);
}

/* --- contact kinematics: Visser 2002 (18)-(21), corrected; out = u1' v1' u2' v2' alpha' d' --------------------------- */

/* First-order displacement of body 2 from the position that the contact coordinates give to the actual one, in C2;
 * x2, y2 (axes of C2) and between (p2 - p1) are in the axes of body 1, R1 is the Gauss frame of body 1, and s and c are the
 * sine and cosine of alpha */
INLINE void drift(const double R1[9], const double x2[3], const double y2[3], const double between[3], double s, double c,
                  double d, double turn_off[3], double off[3])
{
    const double x1[3] = {R1[0], R1[3], R1[6]}, z1[3] = {R1[2], R1[5], R1[8]}, height = dot(z1, between);
    turn_off[0] = -dot(z1, y2), turn_off[1] = dot(z1, x2);
    turn_off[2] = -(dot(x1, y2) * c + dot(x1, x2) * s);
    off[0] = dot(x2, between) - turn_off[1] * height;
    off[1] = dot(y2, between) + turn_off[0] * height;
    off[2] = d - height;
}

/* The twist (omega, v) of body 2 relative to body 1 in C2 moves the coordinates; a correction brings
 * them back to the closest points of the poses: the displacement above at the rate |omega| + |v| |S| of the motion */
INLINE void contact_rates(const double G[8], const double H[8], double alpha, double d, const double R1[9],
                          const double x2[3], const double y2[3], const double between[3], const double omega_c[3],
                          const double v_c[3], double out[6])
{
    double s, c, omega[3], v[3];
    sine_cosine(alpha, &s, &c);
    const double mean = 0.5 * (G[3] + G[5]), half = 0.5 * (G[3] - G[5]), c2 = 1.0 - 2.0 * s * s, s2 = 2.0 * s * c;
    const double swing = half * c2 - G[4] * s2, a11 = mean + swing, a22 = mean - swing;
    const double a12 = -(half * s2 + G[4] * c2);
    const double b11 = d * a11 + 1.0, b12 = d * a12, b22 = d * a22 + 1.0;
    const double s11 = H[3] * b11 + H[4] * b12 + a11, s12 = H[3] * b12 + H[4] * b22 + a12;
    const double s21 = H[4] * b11 + H[5] * b12 + a12, s22 = H[4] * b12 + H[5] * b22 + a22;
    const double motion = fabs(omega_c[0]) + fabs(omega_c[1]) + fabs(omega_c[2]) +
                          (fabs(v_c[0]) + fabs(v_c[1])) * (fabs(s11) + fabs(s22));
    drift(R1, x2, y2, between, s, c, d, omega, v);
    for (int i = 0; i < 3; i++)
        omega[i] = omega_c[i] + motion * omega[i], v[i] = v_c[i] + motion * v[i];
    const double r1 = H[3] * v[0] + H[4] * v[1] - omega[1], r2 = H[4] * v[0] + H[5] * v[1] + omega[0];
    const double over = 1.0 / (s11 * s22 - s12 * s21);
    const double y_1 = (s22 * r1 - s12 * r2) * over, y_2 = (s11 * r2 - s21 * r1) * over;
    const double m1 = c * y_1 - s * y_2, n1 = -(s * y_1 + c * y_2);
    const double m2 = b11 * y_1 + b12 * y_2 - v[0], n2 = b12 * y_1 + b22 * y_2 - v[1];
    out[1] = n1 / G[2];
    out[0] = (m1 - G[1] * out[1]) / G[0];
    out[3] = n2 / H[2];
    out[2] = (m2 - H[1] * out[3]) / H[0];
    out[4] = omega[2] + G[6] * m1 + G[7] * n1 + H[6] * m2 + H[7] * n2;
    out[5] = -v[2];
}

/* P' = W + (L x omega, p x omega): the part p x v is zero about the centre of mass */
INLINE void momentum_rate(const double P[6], const double omega[3], const double moment[3], const double force[3],
                          double out[6])
{
    cross(P, omega, out);
    cross(P + 3, omega, out + 3);
    for (int i = 0; i < 3; i++)
        out[i] += moment[i], out[i + 3] += force[i];
}

INLINE void body_twist(const double P[6], const double over[4], double omega[3], double v[3])
{
    for (int i = 0; i < 3; i++)
        omega[i] = P[i] * over[i + 1], v[i] = P[i + 3] * over[0];
}

/* --- the right-hand sides ----------------------------------------------------------------------------------------- */

__attribute__((noinline)) void s2a(const double *restrict t, const double *restrict x, const double *restrict p,
                                   const double *restrict m, double *restrict dx)
{
    const double *P = x, *pose = x + 6, *spring = x + 13, *q1 = x + 17, *q2 = x + 19, *r = x + 23;
    const double *k = p + 4, *c = p + 8, *egg1 = p + 13, *egg2 = p + 17, force = p[12], alpha = x[21], d = x[22];
    double omega[3], v[3], R[9], R1[9], R2[9], c1[3], c2[3], G1[8], G2[8];
    (void)t;
    body_twist(P, p, omega, v);
    rotation(pose, R);
    egg(q1, m[1], egg1, R1, c1, G1);
    egg(q2, m[2], egg2, R2, c2, G2);

    /* twist of 2 relative to 1 in the Gauss frame C2 */
    double at[3], omega_c[3], v_c[3];
    cross(omega, c2, at);
    for (int i = 0; i < 3; i++)
        at[i] += v[i];
    turn_back(R2, omega, omega_c);
    turn_back(R2, at, v_c);

    /* axes of C2, and from c1 to c2, in the world, whose axes are those of body 1 */
    const double x2[3] = {R2[0], R2[3], R2[6]}, y2[3] = {R2[1], R2[4], R2[7]};
    double x2_w[3], y2_w[3], between[3];
    turn(R, x2, x2_w);
    turn(R, y2, y2_w);
    turn(R, c2, between);
    for (int i = 0; i < 3; i++)
        between[i] += pose[4 + i] - c1[i];
    contact_rates(G1, G2, alpha, d, R1, x2_w, y2_w, between, omega_c, v_c, dx + 17);

    /* springs and dampers; the normal force never pulls */
    double f[3] = {0.0, 0.0, 0.0}, moment_c = 0.0;
    dx[13] = dx[14] = dx[15] = dx[16] = 0.0;
    if (m[0] != 0.0) {
        const double normal = k[3] * spring[3];
        moment_c = -(k[0] * spring[0] + c[0] * omega_c[2]);
        f[0] = -(k[1] * spring[1] + c[1] * v_c[0]);
        f[1] = -(k[2] * spring[2] + c[2] * v_c[1]);
        f[2] = -(normal + fmax(c[3] * v_c[2], -normal));
        dx[13] = omega_c[2], dx[14] = v_c[0], dx[15] = v_c[1], dx[16] = v_c[2];
    }
    double f_b[3], moment[3], pull[3], pull_b[3];
    turn(R2, f, f_b);
    cross(c2, f_b, moment);
    for (int i = 0; i < 3; i++)
        moment[i] += R2[3 * i + 2] * moment_c;

    const double over = -force / sqrt(dot(r, r));
    for (int i = 0; i < 3; i++)
        pull[i] = over * r[i];
    turn_back(R, pull, pull_b);
    for (int i = 0; i < 3; i++)
        f_b[i] += pull_b[i];

    momentum_rate(P, omega, moment, f_b, dx);
    quaternion_rate(pose, omega, dx + 6);
    turn(R, v, dx + 10);
    for (int i = 0; i < 3; i++)
        dx[23 + i] = dx[10 + i];
}

__attribute__((noinline)) void s1a(const double *restrict t, const double *restrict x, const double *restrict p,
                                   const double *restrict m, double *restrict dx)
{
    const double *P2 = x, *pose2 = x + 6, *q1 = x + 14, *q2 = x + 16, *P1 = x + 20, *pose1 = x + 26;
    const double *egg1 = p + 6, *egg2 = p + 10, spring = x[13], alpha = x[18], d = x[19];
    double omega2[3], v2[3], omega1[3], v1[3], A1[9], A2[9], R1[9], R2[9], c1[3], c2[3], G1[8], G2[8];
    (void)t;
    body_twist(P2, p, omega2, v2);
    body_twist(P1, p + 14, omega1, v1);
    rotation(pose2, A2);
    rotation(pose1, A1);
    egg(q1, m[1], egg1, R1, c1, G1);
    egg(q2, m[2], egg2, R2, c2, G2);

    /* axes of body 2 in those of body 1 */
    double B[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            B[3 * i + j] = A1[i] * A2[j] + A1[i + 3] * A2[j + 3] + A1[i + 6] * A2[j + 6];

    /* body 1's twist at p2, from the axes of body 1 to those of body 2 */
    const double apart[3] = {pose2[4] - pose1[4], pose2[5] - pose1[5], pose2[6] - pose1[6]};
    double centre[3], arm[3], at[3], omega_b[3], v_b[3], omega_c[3], v_c[3];
    turn_back(A1, apart, centre);
    turn(B, c2, arm);
    for (int i = 0; i < 3; i++)
        arm[i] += centre[i];
    cross(omega1, arm, at);
    for (int i = 0; i < 3; i++)
        at[i] += v1[i];
    turn_back(B, omega1, omega_b);
    turn_back(B, at, v_b);
    cross(omega2, c2, at);
    for (int i = 0; i < 3; i++)
        omega_b[i] = omega2[i] - omega_b[i], v_b[i] = at[i] + v2[i] - v_b[i];
    turn_back(R2, omega_b, omega_c);
    turn_back(R2, v_b, v_c);

    const double x2[3] = {R2[0], R2[3], R2[6]}, y2[3] = {R2[1], R2[4], R2[7]};
    const double between[3] = {arm[0] - c1[0], arm[1] - c1[1], arm[2] - c1[2]};
    double x2_1[3], y2_1[3];
    turn(B, x2, x2_1);
    turn(B, y2, y2_1);
    contact_rates(G1, G2, alpha, d, R1, x2_1, y2_1, between, omega_c, v_c, dx + 14);

    double push = 0.0;
    dx[13] = 0.0;
    if (m[0] != 0.0) {
        const double normal = p[4] * spring;
        push = normal + fmax(p[5] * v_c[2], -normal);
        dx[13] = v_c[2];
    }
    double f2[3], f1[3], moment[3];
    for (int i = 0; i < 3; i++)
        f2[i] = -push * R2[3 * i + 2];
    cross(c2, f2, moment);
    momentum_rate(P2, omega2, moment, f2, dx);
    turn(B, f2, f1);
    for (int i = 0; i < 3; i++)
        f1[i] = -f1[i];
    cross(arm, f1, moment);
    momentum_rate(P1, omega1, moment, f1, dx + 20);

    quaternion_rate(pose2, omega2, dx + 6);
    quaternion_rate(pose1, omega1, dx + 26);
    turn(A2, v2, dx + 10);
    turn(A1, v1, dx + 30);
}

/* --- loops over many states, for timing: the same as the compiled kernel's `many` --------------------------------- */

#define MANY(name, states)                                                                                             \
    void name##_many(long samples, const double *t, const double *x, const double *p, const double *m, double *dx)     \
    {                                                                                                                  \
        for (long i = 0; i < samples; i++)                                                                             \
            name(t, x + states * i, p, m, dx + states * i);                                                            \
    }

MANY(s2a, 26)
MANY(s1a, 33)
