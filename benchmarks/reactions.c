/* Mass action by hand: A + 2 B <=> C in a row of n reactions among n + 1 species, to compare with the compiled rates. */

void reactions_many(long samples, long n, const double *x, const double *constant, const double *rate, double *active, double *out)
{
    for (long sample = 0; sample < samples; sample++, x += n + 1, out += n + 1) {
        for (long i = 0; i <= n; i++) {
            double amount = constant[i] * x[i];
            active[i] = amount > 1e-300 ? amount : 1e-300;
            out[i] = 0.0;
        }
        for (long i = 0; i < n; i++) {
            long twice = (i + 2) % (n + 1);
            double v = rate[i] * (active[i] * active[twice] * active[twice] - active[i + 1]);
            out[i] -= v;
            out[twice] -= 2.0 * v;
            out[i + 1] += v;
        }
    }
}
