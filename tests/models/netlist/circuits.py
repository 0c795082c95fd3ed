"""Ten circuits and their voltages at the end by ngspice 39: reltol=1e-7, abstol=1e-15, vntol=1e-10, method=gear, uic."""

CIRCUITS: dict[str, tuple[str, float, dict[str, float]]] = {
    "rlc low pass": (
        """rlc low pass
V1 in 0 SIN(0 1 1k)
R1 in mid 50
L1 mid out 10m
C1 out 0 1u
R2 out 0 1k
""",
        0.005,
        {"out": -0.659732702376, "mid": -0.327236219272},
    ),
    "half wave": (
        """half wave
V1 in 0 SIN(0 10 50)
Rs in a 10
D1 a out D
.model D D (IS=1e-12 N=1)
C1 out 0 100u
R1 out 0 1k
""",
        0.1,
        {"out": 7.788638319097},
    ),
    "full wave": (
        """full wave
V1 a 0 SIN(0 10 50)
V2 b 0 SIN(0 -10 50)
Rs a c 1
Rt b d 1
D1 c out DM
D2 d out DM
.model DM D IS=1e-10 N=1.5 RS=0.05
C1 out 0 100u
R1 out 0 1k
""",
        0.0537,
        {"out": 8.505643937688, "c": -9.17754625672},
    ),
    "sallen key": (
        """sallen key
V1 in 0 PULSE(0 1 0.1m 1u 1u 1m 2m)
R1 in a 10k
R2 a b 10k
C1 a out 10n
C2 b 0 4.7n
E1 out 0 b out 1e5
Rl out 0 10k
""",
        0.00305,
        {"out": 1.000092837605, "a": 1.000059515784},
    ),
    "twin t": (
        """twin t
V1 in 0 PWL(0 0 1m 1 2m -0.5 3m 0.25)
R1 in a 10k
R2 a out 10k
C3 a 0 20n
C1 in b 10n
C2 b out 10n
R3 b 0 5k
Rl out 0 100k
""",
        0.004,
        {"out": 0.1987343368541},
    ),
    "switch": (
        """switch
V1 in 0 10
V2 g 0 PULSE(0 5 1u 1n 1n 4u 10u)
S1 in sw g 0 SM
.model SM SW(VT=2.5 VH=0.5 RON=0.1 ROFF=1MEG)
D1 0 sw DF
.model DF D(IS=1e-9 N=1.2)
L1 sw out 47u
C1 out 0 22u
R1 out 0 5
""",
        7.3e-05,
        {"out": 4.969560542045},
    ),
    "controlled": (
        """controlled
V1 in 0 SIN(1 2 2k 0.1m 500 30)
R1 in a 1k
Vs a b 0
C1 b 0 100n
F1 0 f Vs 3
Rf f 0 2k
H1 h 0 Vs 500
Rh h 0 1k
G1 0 g b 0 2m
Rg g 0 470
E2 e 0 g f 0.5
Re e x 1k
Cx x 0 47n
""",
        0.0021,
        {"f": 3.298232383763, "h": 0.2748526986469, "g": 0.7690836012453, "x": -0.640652929665},
    ),
    "subcircuits": (
        """subcircuits
.param r0=1k
.subckt rc in out params: r=1k c=100n
R1 in out {r}
C1 out 0 {c}
.ends
.subckt two a b r=2k
X1 a m rc r={r}
X2 m b rc r={r*2} c=10n
.ends
V1 in 0 SIN(0 5 500)
Xa in mid two r={2*r0+100}
Xb mid out rc
+ r='r0/2'
""",
        0.005,
        {"mid": 1.688462125836, "out": 1.680585120299},
    ),
    "coupled coils": (
        """coupled coils
V1 in 0 SIN(0 10 1k)
R1 in a 10
L1 a 0 10m
L2 b 0 2.5m
K1 L1 L2 0.95
R2 b 0 50
C2 b 0 1u
""",
        0.0043,
        {"a": 8.489843936868, "b": 4.129438502117},
    ),
    "clipper warm": (
        """clipper warm
V1 in 0 SIN(0 5 1k)
R1 in out 1k
D1 out p D1N
D2 n out D1N
Vp p 0 1
Vn n 0 -1
.model d1n D(IS=2.52n N=1.752 RS=0.568)
C1 out 0 20n
.options temp=50
""",
        0.0017,
        {"out": -1.59558433493},
    ),
    "tank ic": (
        """tank ic
L1 a 0 1m IC=2m
C1 a 0 1u IC=3
R1 a 0 470
I1 0 a PULSE(0 5m 0.2m 10u 10u 0.1m 1)
""",
        0.0007,
        {"a": -1.35537650509},
    ),
}
"""Netlist, end of the run in s, and the voltages of nodes there."""
