/* The equations of the dexterous hand with three fingers and a ball, written by hand: the reference for the compiled
 * right-hand side. Source: Visser 2002, section 5; contact kinematics (18)-(21), corrected, for two spheres.
 *
 *   x (80): for each finger q (4), q' (4);                                                               0 .. 23
 *           for each contact u1 v1 u2 v2 alpha d, spring (omega_z, v_x, v_y, v_z);                        24 .. 53
 *           ball P (6, body axes: angular, linear), quaternion and position (7);                         54 .. 66
 *           virtual object, the same                                                                     67 .. 79
 *   m (9):  for each contact on (0 free, 1 contact), chart of the tip, chart of the ball (0 axis z, 1 axis x)
 *   p (80): base, l1, l2 l3 l4, W (22 23 24 33 34 44), It (3), Ia (3), Ia of link 1, joint damping, pole along a and u,
 *           k of the pole springs, r1, r2, k (4), c (4), 1/m, 1/I (3) of the ball, 1/m, 1/I of the virtual object, its
 *           two dampings, two stiffnesses to the reference, virtual points (3 x 3), cos and sin of the azimuths (3 x 2),
 *           reference at the start (7), two steps (begin, end, shift (3), turn (3))
 *
 * A finger in the pitches s_i of its links is a planar chain that joint 1 turns: mass W_ij cos(s_i - s_j) + It_i for the
 * pitches, s.W s + It sin^2 s + Ia cos^2 s for joint 1, no coupling. The tip's axes are a (radial at pitch zero), e_t, u.
 */
#include "spatial.h"

#define FINGERS 3
#define STATES 80

/* P' = W + (L x omega, p x omega), wrench given in world axes; and the rate of the pose */
INLINE void body_rate(const double P[6], const double pose[7], const double R[9], const double omega[3],
                      const double v_world[3], const double moment[3], const double force[3], double dP[6],
                      double dpose[7])
{
    double m_b[3], f_b[3];
    turn_back(R, moment, m_b);
    turn_back(R, force, f_b);
    cross(P, omega, dP);
    cross(P + 3, omega, dP + 3);
    for (int i = 0; i < 3; i++)
        dP[i] += m_b[i], dP[i + 3] += f_b[i], dpose[4 + i] = v_world[i];
    quaternion_rate(pose, omega, dpose);
}

/* unit sphere in a polar chart: e = n_u, g = n_v / sin u */
INLINE void direction(const double q[2], double chart, double e[3], double g[3], double n[3], double *su, double *cu)
{
    double sv, cv;
    sine_cosine(q[0], su, cu);
    sine_cosine(q[1], &sv, &cv);
    const double a = *su * cv, b = *su * sv, c = *cu * cv, d = *cu * sv;
    if (chart == 0.0) {
        n[0] = a, n[1] = b, n[2] = *cu, e[0] = c, e[1] = d, e[2] = -*su, g[0] = -sv, g[1] = cv, g[2] = 0.0;
    } else {
        n[0] = *cu, n[1] = a, n[2] = b, e[0] = -*su, e[1] = c, e[2] = d, g[0] = 0.0, g[1] = -sv, g[2] = cv;
    }
}

/* pose of the reference: two smooth steps */
INLINE void reference(double t, const double *p, double R[9], double place[3])
{
    double q[4] = {p[0], p[1], p[2], p[3]};
    for (int i = 0; i < 3; i++)
        place[i] = p[4 + i];
    for (int k = 0; k < 2; k++) {
        const double *step = p + 7 + 8 * k, *w = step + 5;
        const double x = fmin(fmax((t - step[0]) / (step[1] - step[0]), 0.0), 1.0);
        const double s = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), angle = sqrt(dot(w, w));
        for (int i = 0; i < 3; i++)
            place[i] += s * step[2 + i];
        if (angle > 0.0) {
            double sn, c;
            sine_cosine(0.5 * angle * s, &sn, &c);
            const double a = sn * w[0] / angle, b = sn * w[1] / angle, d = sn * w[2] / angle;
            const double old[4] = {q[0], q[1], q[2], q[3]};
            q[0] = c * old[0] - a * old[1] - b * old[2] - d * old[3];
            q[1] = c * old[1] + a * old[0] + b * old[3] - d * old[2];
            q[2] = c * old[2] + b * old[0] + d * old[1] - a * old[3];
            q[3] = c * old[3] + d * old[0] + a * old[2] - b * old[1];
        }
    }
    rotation(q, R);
}

/* rotation vector of A B^T */
INLINE void rotation_vector(const double A[9], const double B[9], double out[3])
{
    double D[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            D[3 * i + j] = dot(A + 3 * i, B + 3 * j);
    out[0] = 0.5 * (D[7] - D[5]), out[1] = 0.5 * (D[2] - D[6]), out[2] = 0.5 * (D[3] - D[1]);
    const double square = dot(out, out);
    double factor = 1.0 + square * (1.0 / 6.0);
    if (square >= 1e-10) {
        const double sine = sqrt(square);
        factor = atan2(sine, 0.5 * (D[0] + D[4] + D[8] - 1.0)) / sine;
    }
    for (int i = 0; i < 3; i++)
        out[i] *= factor;
}

__attribute__((noinline)) void hand(const double *restrict t, const double *restrict x, const double *restrict p,
                                    const double *restrict m, double *restrict dx)
{
    const double *L = p + 2, *W = p + 5, *It = p + 11, *Ia = p + 14, *k = p + 24, *c = p + 28;
    const double kf = p[21], r1 = p[22], r2 = p[23], k1 = 1.0 / r1, k2 = 1.0 / r2;
    const double *P = x + 54, *pose = x + 60, *Pv = x + 67, *posev = x + 73;
    double R[9], Rv[9], omega[3], v[3], omega_w[3], v_w[3], omega_v[3], vv[3], omega_vw[3], vv_w[3];
    rotation(pose, R);
    rotation(posev, Rv);
    for (int i = 0; i < 3; i++) {
        omega[i] = P[i] * p[33 + i], v[i] = P[3 + i] * p[32];
        omega_v[i] = Pv[i] * p[37], vv[i] = Pv[3 + i] * p[36];
    }
    turn(R, omega, omega_w);
    turn(R, v, v_w);
    turn(Rv, omega_v, omega_vw);
    turn(Rv, vv, vv_w);

    double Rr[9], place[3], force_v[3], moment_v[3], force_b[3] = {0.0, 0.0, 0.0}, moment_b[3] = {0.0, 0.0, 0.0};
    reference(t[0], p + 57, Rr, place);
    rotation_vector(Rr, Rv, moment_v);
    for (int i = 0; i < 3; i++) {
        force_v[i] = p[40] * (place[i] - posev[4 + i]) - p[38] * vv_w[i];
        moment_v[i] = p[41] * moment_v[i] - p[39] * omega_vw[i];
    }

    for (int f = 0; f < FINGERS; f++) {
        const double *q = x + 8 * f, *w = q + 4, *z = x + 24 + 10 * f, *spring = z + 6, *on = m + 3 * f;
        double *dq = dx + 8 * f, *dw = dq + 4, *dz = dx + 24 + 10 * f, *ds = dz + 6;
        const double ca = p[51 + 2 * f], sa = p[52 + 2 * f];
        double s0, c0, s[3], cs[3];
        sine_cosine(q[0], &s0, &c0);
        sine_cosine(q[1], s, cs);
        sine_cosine(q[1] + q[2], s + 1, cs + 1);
        sine_cosine(q[1] + q[2] + q[3], s + 2, cs + 2);
        const double rate[3] = {w[1], w[1] + w[2], w[1] + w[2] + w[3]};
        const double er[2] = {ca * c0 - sa * s0, sa * c0 + ca * s0}, et[3] = {-er[1], er[0], 0.0};
        const double rho = -(L[0] * s[0] + L[1] * s[1] + L[2] * s[2]);
        const double rho1 = -(L[0] * cs[0] * rate[0] + L[1] * cs[1] * rate[1] + L[2] * cs[2] * rate[2]);
        const double h1 = -(L[0] * s[0] * rate[0] + L[1] * s[1] * rate[1] + L[2] * s[2] * rate[2]);
        const double tip[3] = {p[0] * ca + rho * er[0], p[0] * sa + rho * er[1],
                               p[1] + L[0] * cs[0] + L[1] * cs[1] + L[2] * cs[2]};
        const double v_t[3] = {rho1 * er[0] + rho * w[0] * et[0], rho1 * er[1] + rho * w[0] * et[1], h1};
        const double omega_t[3] = {-rate[2] * et[0], -rate[2] * et[1], w[0]};
        const double a[3] = {cs[2] * er[0], cs[2] * er[1], s[2]}, u[3] = {-s[2] * er[0], -s[2] * er[1], cs[2]};

        /* contact: the Gauss frame C2 in the world, the relative twist at p2 */
        double e1[3], g1[3], n1[3], e2[3], g2[3], n2[3], su1, cu1, su2, cu2, X[3], Y[3], Z[3], at[3], arm[3], vc[3];
        direction(z, on[1], e1, g1, n1, &su1, &cu1);
        direction(z + 2, on[2], e2, g2, n2, &su2, &cu2);
        (void)g1;
        turn(R, e2, X);
        turn(R, g2, Y);
        turn(R, n2, Z);
        for (int i = 0; i < 3; i++)
            at[i] = r2 * Z[i], arm[i] = pose[4 + i] + at[i] - tip[i];
        double ball_at[3], tip_at[3], spin[3];
        cross(omega_w, at, ball_at);
        cross(omega_t, arm, tip_at);
        for (int i = 0; i < 3; i++)
            vc[i] = v_w[i] + ball_at[i] - v_t[i] - tip_at[i], spin[i] = omega_w[i] - omega_t[i];
        const double wx = dot(spin, X), wy = dot(spin, Y), wz = dot(spin, Z);
        const double vx = dot(vc, X), vy = dot(vc, Y), vz = dot(vc, Z);
        const double alpha = z[4], d = z[5], B = 1.0 + d * k1, over = 1.0 / (k2 * B + k1);
        double sal, cal;
        sine_cosine(alpha, &sal, &cal);

        /* correction towards the closest points of the poses, as in two_eggs.c */
        double X1[3], Z1[3], between[3];
        for (int i = 0; i < 3; i++) {
            X1[i] = a[i] * e1[0] + et[i] * e1[1] + u[i] * e1[2], Z1[i] = a[i] * n1[0] + et[i] * n1[1] + u[i] * n1[2];
            between[i] = arm[i] - r1 * Z1[i];
        }
        const double motion = fabs(wx) + fabs(wy) + fabs(wz) + (fabs(vx) + fabs(vy)) * 2.0 * fabs(k2 * B + k1);
        const double height = dot(Z1, between), turn_x = -dot(Z1, Y), turn_y = dot(Z1, X);
        const double tx = wx + motion * turn_x, ty = wy + motion * turn_y;
        const double tz_ = wz - motion * (dot(X1, Y) * cal + dot(X1, X) * sal);
        const double ux = vx + motion * (dot(X, between) - turn_y * height), uy = vy + motion * (dot(Y, between) + turn_x * height);
        const double uz = vz + motion * (d - height);
        const double y1 = (k2 * ux - ty) * over, y2 = (k2 * uy + tx) * over;
        const double m1 = cal * y1 - sal * y2, l1 = -(sal * y1 + cal * y2), m2 = B * y1 - ux, l2 = B * y2 - uy;
        const double v1 = l1 * k1 / su1, v2 = l2 * k2 / su2;
        dz[0] = m1 * k1, dz[1] = v1, dz[2] = m2 * k2, dz[3] = v2;
        dz[4] = tz_ + cu1 * v1 + cu2 * v2, dz[5] = -uz;

        double F[3] = {0.0, 0.0, 0.0}, N[3] = {0.0, 0.0, 0.0};
        ds[0] = ds[1] = ds[2] = ds[3] = 0.0;
        if (on[0] != 0.0) {
            const double normal = k[3] * spring[3], tz = -(k[0] * spring[0] + c[0] * wz);
            const double fx = -(k[1] * spring[1] + c[1] * vx), fy = -(k[2] * spring[2] + c[2] * vy);
            const double fz = -(normal + fmax(c[3] * vz, -normal));
            double lever[3], lever_t[3];
            for (int i = 0; i < 3; i++)
                F[i] = fx * X[i] + fy * Y[i] + fz * Z[i];
            cross(at, F, lever);
            cross(arm, F, lever_t);
            for (int i = 0; i < 3; i++) {
                force_b[i] += F[i], moment_b[i] += lever[i] + tz * Z[i];
                N[i] = -lever_t[i] - tz * Z[i], F[i] = -F[i];
            }
            ds[0] = wz, ds[1] = vx, ds[2] = vy, ds[3] = vz;
        }

        /* spring from the pole to the virtual point */
        double off[3], point[3], pull[3], lever[3];
        turn(Rv, p + 42 + 3 * f, point);
        for (int i = 0; i < 3; i++) {
            off[i] = p[19] * a[i] + p[20] * u[i];
            pull[i] = kf * (posev[4 + i] + point[i] - tip[i] - off[i]);
            F[i] += pull[i], force_v[i] -= pull[i];
        }
        cross(off, pull, lever);
        for (int i = 0; i < 3; i++)
            N[i] += lever[i];
        cross(point, pull, lever);
        for (int i = 0; i < 3; i++)
            moment_v[i] -= lever[i];

        /* the finger */
        const double Fr = F[0] * er[0] + F[1] * er[1], Nt = N[0] * et[0] + N[1] * et[1];
        const double Ws[3] = {W[0] * s[0] + W[1] * s[1] + W[2] * s[2], W[1] * s[0] + W[3] * s[1] + W[4] * s[2],
                              W[2] * s[0] + W[4] * s[1] + W[5] * s[2]};
        double M1 = p[17], dM = 0.0, Q[3];
        const double d21 = W[1] * (s[0] * cs[1] - cs[0] * s[1]), d31 = W[2] * (s[0] * cs[2] - cs[0] * s[2]);
        const double d32 = W[4] * (s[1] * cs[2] - cs[1] * s[2]);
        const double rr[3] = {rate[0] * rate[0], rate[1] * rate[1], rate[2] * rate[2]}, ww = w[0] * w[0];
        const double b[3] = {d21 * rr[1] + d31 * rr[2], d32 * rr[2] - d21 * rr[0], -(d31 * rr[0] + d32 * rr[1])};
        for (int i = 0; i < 3; i++) {
            const double half = cs[i] * (Ws[i] + s[i] * (It[i] - Ia[i]));
            M1 += s[i] * Ws[i] + It[i] * s[i] * s[i] + Ia[i] * cs[i] * cs[i];
            dM += 2.0 * half * rate[i];
            Q[i] = half * ww - b[i] - L[i] * (cs[i] * Fr + s[i] * F[2]) - p[18] * (w[i + 1] - (i < 2 ? w[i + 2] : 0.0));
        }
        Q[2] -= Nt;
        const double Q1 = rho * (F[0] * et[0] + F[1] * et[1]) + N[2] - p[18] * w[0] - dM * w[0];
        const double a11 = W[0] + It[0], a22 = W[3] + It[1], a33 = W[5] + It[2];
        const double a12 = W[1] * (cs[0] * cs[1] + s[0] * s[1]), a13 = W[2] * (cs[0] * cs[2] + s[0] * s[2]);
        const double a23 = W[4] * (cs[1] * cs[2] + s[1] * s[2]);
        const double o1 = 1.0 / a11, l21 = a12 * o1, l31 = a13 * o1, o2 = 1.0 / (a22 - l21 * a12);
        const double b32 = a23 - l21 * a13, l32 = b32 * o2, o3 = 1.0 / (a33 - l31 * a13 - l32 * b32);
        const double g2_ = Q[1] - l21 * Q[0], g3 = (Q[2] - l31 * Q[0] - l32 * g2_) * o3;
        const double h2 = g2_ * o2 - l32 * g3, hh1 = Q[0] * o1 - l21 * h2 - l31 * g3;
        for (int i = 0; i < 4; i++)
            dq[i] = w[i];
        dw[0] = Q1 / M1, dw[1] = hh1, dw[2] = h2 - hh1, dw[3] = g3 - h2;
    }
    body_rate(P, pose, R, omega, v_w, moment_b, force_b, dx + 54, dx + 60);
    body_rate(Pv, posev, Rv, omega_v, vv_w, moment_v, force_v, dx + 67, dx + 73);
}

/* a loop over many states, for timing: the same as the compiled kernel's `many` */
void hand_many(long samples, const double *t, const double *x, const double *p, const double *m, double *dx)
{
    for (long i = 0; i < samples; i++)
        hand(t, x + STATES * i, p, m, dx + STATES * i);
}
