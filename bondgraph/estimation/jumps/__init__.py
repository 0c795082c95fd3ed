"""Jump conditions of sensitivities (saltation matrix): S after a clock tick, a break of time or an event, from S before it.

At an instant whose time depends on p, by dt = dt/dp, the state at that instant changes by D = S + f dt; a reset x+ = R(t, x, p)
turns it into D+ = R_x D + R_p + R_t dt, and at a fixed time after it S+ = D+ - f+ dt.

References
----------
M. A. Aizerman, F. R. Gantmacher, "On the stability of periodic motions", J. Appl. Math. Mech. 22 (1958). I. A. Hiskens,
M. A. Pai, "Trajectory sensitivity analysis of hybrid systems", IEEE Trans. Circuits Syst. I 47 (2000).
"""
