"""What instants make of sensitivities: S before ticks, breaks or events and what happened there in; S after it out.

At an instant whose time depends on p, by dt = dt/dp, the state that lies there changes by D = S + f dt; a reset x+ = R(t, x, p)
makes D+ = R_x D + R_p + R_t dt of it, and at a fixed time after it S+ = D+ - f+ dt.

References
----------
M. A. Aizerman, F. R. Gantmacher, "On the stability of periodic motions", J. Appl. Math. Mech. 22 (1958). I. A. Hiskens,
M. A. Pai, "Trajectory sensitivity analysis of hybrid systems", IEEE Trans. Circuits Syst. I 47 (2000).
"""
