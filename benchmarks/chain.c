/* Chain of n mass-spring-damper sections from a wall, written by hand, to compare with the compiled right-hand side.
 *
 * State: momentum of mass i, then extension of spring i, for i = 0 ... n - 1. One pass carries the velocity and the force of
 * the previous section along; reciprocal masses are precomputed. */

void chain_rates(long n, const double *restrict x, const double *restrict lightness, const double *restrict stiffness,
                 const double *restrict damping, double *restrict rates)
{
    double before = 0.0, pull = 0.0;
    for (long i = 0; i < n; i++) {
        double velocity = x[2 * i] * lightness[i];
        double stretching = before - velocity;
        double force = stiffness[i] * x[2 * i + 1] + damping[i] * stretching;
        if (i)
            rates[2 * i - 2] = pull - force;
        rates[2 * i + 1] = stretching;
        before = velocity;
        pull = force;
    }
    if (n)
        rates[2 * n - 2] = pull;
}

void chain_many(long samples, long n, const double *x, const double *lightness, const double *stiffness,
                const double *damping, double *rates)
{
    for (long k = 0; k < samples; k++)
        chain_rates(n, x + 2 * n * k, lightness, stiffness, damping, rates + 2 * n * k);
}
