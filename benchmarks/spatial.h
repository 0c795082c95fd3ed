/* Vectors, rotations and quaternions for the hand-written equations of bodies. */
#include <math.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void sine_cosine(double a, double *s, double *c) { *s = sin(a), *c = cos(a); } /* one call of sincos */

INLINE double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

INLINE void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* R a; R in rows */
INLINE void turn(const double R[9], const double a[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R[3 * i] * a[0] + R[3 * i + 1] * a[1] + R[3 * i + 2] * a[2];
}

/* R^T a */
INLINE void turn_back(const double R[9], const double a[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * a[0] + R[i + 3] * a[1] + R[i + 6] * a[2];
}

INLINE void rotation(const double q[4], double R[9])
{
    const double s = 2.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const double x = s * q[1], y = s * q[2], z = s * q[3];
    const double wx = q[0] * x, wy = q[0] * y, wz = q[0] * z;
    const double xx = q[1] * x, xy = q[1] * y, xz = q[1] * z, yy = q[2] * y, yz = q[2] * z, zz = q[3] * z;
    R[0] = 1.0 - (yy + zz), R[1] = xy - wz, R[2] = xz + wy;
    R[3] = xy + wz, R[4] = 1.0 - (xx + zz), R[5] = yz - wx;
    R[6] = xz - wy, R[7] = yz + wx, R[8] = 1.0 - (xx + yy);
}

/* q' = q (0, omega) / 2 + n (1 - q.q) q / 8 with a norm n of omega: the last term keeps the quaternion at unit length */
INLINE void quaternion_rate(const double q[4], const double omega[3], double out[4])
{
    const double a = 0.5 * omega[0], b = 0.5 * omega[1], c = 0.5 * omega[2];
    const double turning = fabs(a) + fabs(b) + fabs(c);
    const double pull = 0.25 * turning * (1.0 - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
    out[0] = pull * q[0] - (q[1] * a + q[2] * b + q[3] * c);
    out[1] = pull * q[1] + q[0] * a + q[2] * c - q[3] * b;
    out[2] = pull * q[2] + q[0] * b + q[3] * a - q[1] * c;
    out[3] = pull * q[3] + q[0] * c + q[1] * b - q[2] * a;
}
