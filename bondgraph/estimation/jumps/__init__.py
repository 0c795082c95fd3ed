"""Jump conditions of sensitivities (saltation matrix): S after a tick, a discontinuity in time or an event, from S before it.

The time of the instant has the derivative dt with respect to p, so the state at the instant has the derivative D = S + f dt. A
reset x+ = R(t, x, p) turns it into D+ = R_x D + R_p + R_t dt, and at a fixed time afterwards S+ = D+ - f+ dt.

References
----------
M. A. Aizerman, F. R. Gantmacher, "On the stability of periodic motions", J. Appl. Math. Mech. 22 (1958). I. A. Hiskens,
M. A. Pai, "Trajectory sensitivity analysis of hybrid systems", IEEE Trans. Circuits Syst. I 47 (2000).
"""
