/* The delta robot by hand: three arms in closed form, their 3x3 inertia matrices, a 6x6 system for the multipliers.

   x = (q1, v1, q2, v2, q3, v3), (18): angles and rates of the three arms; u (3) motor torques, N m.
   p = L0 L1 L2 L3 LC1 LC2 M1 M2 M3 J1 J2 g DAMPING alpha1 alpha0 (15).
   m v' + c + G + DAMPING v = H^T lambda + B u,   H v' + H' v + alpha1 H v + alpha0 h = 0.
   The system H m^-1 H^T lambda = r has one common block: with K_i = R_i dpsi_i m_i^-1 dpsi_i^T R_i^T (3x3, symmetric),
   it is [[K1 + K2, K1], [K1, K1 + K3]], symmetric and positive definite. */
#include <math.h>

static const double SINE[3] = {0.0, 0.86602540378443864676, -0.86602540378443864676};
static const double COSINE[3] = {1.0, -0.5, -0.5};

typedef struct {
    double free[3];    /* m^-1 (B u - c - G - D v) */
    double back[3][3]; /* m^-1 dpsi^T R^T */
    double K[6];       /* R dpsi m^-1 dpsi^T R^T: 00 10 11 20 21 22 */
    double tip[3], speed[3], bias[3]; /* in the world */
} Arm;

static inline void turn(int i, const double a[3], double out[3])
{
    double c = COSINE[i], s = SINE[i];
    out[0] = c * a[0] - s * a[1];
    out[1] = s * a[0] + c * a[1];
    out[2] = a[2];
}

static inline void arm(int i, const double *restrict q, const double *restrict v, double u, const double *restrict p,
                       Arm *restrict a)
{
    double L1 = p[1], L2 = p[2], D = p[12];
    double beyond = p[5] * p[7] + L2 * p[8], coupling = L1 * beyond;
    double shaft = p[9] + p[4] * p[4] * p[6] + L1 * L1 * (p[7] + p[8]);
    double rod = p[10] + p[5] * p[5] * p[7] + L2 * L2 * p[8];
    double s1 = sin(q[0]), c1 = cos(q[0]), s2 = sin(q[1]), c2 = cos(q[1]), s3 = sin(q[2]), c3 = cos(q[2]);
    double v11 = v[0] * v[0], v22 = v[1] * v[1], v33 = v[2] * v[2], v23 = v[1] * v[2];

    double m12 = coupling * (c1 * c2 * c3 + s1 * s2), m13 = -coupling * c1 * s2 * s3, m33 = rod * s2 * s2;
    double f0 = u - D * v[0] + p[11] * (p[4] * p[6] + L1 * (p[7] + p[8])) * c1
              - coupling * (c2 * s1 - c1 * c3 * s2) * v22 + coupling * c3 * c1 * s2 * v33
              + 2.0 * coupling * c1 * c2 * s3 * v23;
    double f1 = -D * v[1] + p[11] * beyond * c2 * c3 - coupling * (c1 * s2 - c2 * c3 * s1) * v11 + rod * c2 * s2 * v33;
    double f2 = -D * v[2] - p[11] * beyond * s2 * s3 - coupling * s1 * s2 * s3 * v11 - 2.0 * rod * s2 * c2 * v23;

    /* m is an arrow: eliminate the two distal angles */
    double i2 = 1.0 / rod, i3 = 1.0 / m33, e2 = m12 * i2, e3 = m13 * i3, i1 = 1.0 / (shaft - m12 * e2 - m13 * e3);
    double b[3][3] = {{0.0, L2 * c2 * s3, L2 * s2 * c3},
                      {-L1 * s1, -L2 * s2, 0.0},
                      {L1 * c1, L2 * c2 * c3, -L2 * s2 * s3}}; /* dpsi */
    double P[3][3]; /* rows: world coordinates of dpsi */
    for (int k = 0; k < 3; k++) {
        P[0][k] = COSINE[i] * b[0][k] - SINE[i] * b[1][k];
        P[1][k] = SINE[i] * b[0][k] + COSINE[i] * b[1][k];
        P[2][k] = b[2][k];
    }
    a->free[0] = (f0 - e2 * f1 - e3 * f2) * i1;
    a->free[1] = f1 * i2 - e2 * a->free[0];
    a->free[2] = f2 * i3 - e3 * a->free[0];
    for (int k = 0; k < 3; k++) {
        a->back[0][k] = (P[k][0] - e2 * P[k][1] - e3 * P[k][2]) * i1;
        a->back[1][k] = P[k][1] * i2 - e2 * a->back[0][k];
        a->back[2][k] = P[k][2] * i3 - e3 * a->back[0][k];
    }
    for (int r = 0, at = 0; r < 3; r++)
        for (int k = 0; k <= r; k++, at++)
            a->K[at] = P[r][0] * a->back[0][k] + P[r][1] * a->back[1][k] + P[r][2] * a->back[2][k];

    double tip[3] = {L2 * s2 * s3, L1 * c1 + L2 * c2 + p[0] - p[3], L1 * s1 + L2 * s2 * c3};
    double side = v22 + v33;
    double bias[3] = {L2 * (-s2 * s3 * side + 2.0 * c2 * c3 * v23), -L1 * c1 * v11 - L2 * c2 * v22,
                      -L1 * s1 * v11 + L2 * (-s2 * c3 * side - 2.0 * c2 * s3 * v23)};
    turn(i, tip, a->tip);
    turn(i, bias, a->bias);
    for (int k = 0; k < 3; k++) {
        a->speed[k] = P[k][0] * v[0] + P[k][1] * v[1] + P[k][2] * v[2];
        a->bias[k] += P[k][0] * a->free[0] + P[k][1] * a->free[1] + P[k][2] * a->free[2];
    }
}

void delta_rates(const double *restrict x, const double *restrict u, const double *restrict p, double *restrict dx)
{
    Arm a[3];
    for (int i = 0; i < 3; i++)
        arm(i, x + 6 * i, x + 6 * i + 3, u[i], p, &a[i]);

    double S[6][6], w[6];
    static const int AT[3][3] = {{0, 1, 3}, {1, 2, 4}, {3, 4, 5}};
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k <= r; k++) {
            double one = a[0].K[AT[r][k]];
            S[r][k] = one + a[1].K[AT[r][k]];
            S[r + 3][k + 3] = one + a[2].K[AT[r][k]];
        }
        for (int k = 0; k < 3; k++)
            S[r + 3][k] = a[0].K[AT[r][k]];
        for (int j = 1; j < 3; j++)
            w[3 * (j - 1) + r] = -(a[0].bias[r] - a[j].bias[r]) - p[13] * (a[0].speed[r] - a[j].speed[r])
                               - p[14] * (a[0].tip[r] - a[j].tip[r]);
    }
    /* LDL^T */
    double inv[6];
    for (int j = 0; j < 6; j++) {
        double row[6], d = S[j][j];
        for (int k = 0; k < j; k++) {
            row[k] = S[j][k];
            S[j][k] *= inv[k];
            d -= row[k] * S[j][k];
        }
        inv[j] = 1.0 / d;
        for (int r = j + 1; r < 6; r++)
            for (int k = 0; k < j; k++)
                S[r][j] -= S[r][k] * S[j][k];
    }
    for (int j = 1; j < 6; j++)
        for (int k = 0; k < j; k++)
            w[j] -= S[j][k] * w[k];
    for (int j = 0; j < 6; j++)
        w[j] *= inv[j];
    for (int j = 4; j >= 0; j--)
        for (int k = j + 1; k < 6; k++)
            w[j] -= S[k][j] * w[k];

    for (int i = 0; i < 3; i++) {
        double f[3];
        for (int k = 0; k < 3; k++)
            f[k] = i == 0 ? w[k] + w[3 + k] : -w[3 * (i - 1) + k];
        for (int k = 0; k < 3; k++) {
            dx[6 * i + k] = x[6 * i + 3 + k];
            dx[6 * i + 3 + k] = a[i].free[k] + a[i].back[k][0] * f[0] + a[i].back[k][1] * f[1] + a[i].back[k][2] * f[2];
        }
    }
}

void delta_many(long n, const double *x, const double *u, const double *p, double *dx)
{
    for (long k = 0; k < n; k++)
        delta_rates(x + 18 * k, u + 3 * k, p, dx + 18 * k);
}
