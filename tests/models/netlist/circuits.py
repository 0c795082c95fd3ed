"""Circuits, and their voltages from ngspice 39 with reltol=1e-7, abstol=1e-15, vntol=1e-10, method=gear, 40,000 steps or more."""

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
"""Netlist that is run with UIC, end of the run in s, and node voltages at the end."""

RESTING: dict[str, tuple[str, float, dict[str, tuple[float, float]]]] = {
    "biased rectifier": (
        """biased rectifier
V1 in 0 SIN(2 1 1k)
R1 in a 100
D1 a out D
.model D D(IS=1e-14 RS=2)
C1 out 0 1u
R2 out 0 2k
""",
        0.00123,
        {"a": (1.935479739509, 2.646508356684), "out": (1.290405209813, 1.952402469206)},
    ),
    "conducting at rest": (
        """conducting at rest
V1 in 0 PULSE(5 6 10u 1u 1u 1 2)
R1 in a 1k
D1 a b D
.model D D(IS=1e-14)
L1 b out 1m
C1 out 0 1u
R2 out 0 2k
""",
        0.0005,
        {"a": (3.554880384558, 3.90665781546), "out": (2.890239230884, 3.232903669256)},
    ),
    "closed switch": (
        """closed switch
V1 in 0 10
V2 g 0 PULSE(5 0 20u 1n 1n 30u 60u)
S1 in sw g 0 SM
.model SM SW(VT=2.5 VH=0.5 RON=0.1 ROFF=1MEG)
D1 0 sw DF
.model DF D(IS=1e-9 N=1.2)
L1 sw out 100u
C1 out 0 10u
R1 out 0 5
""",
        7.5e-05,
        {"out": (9.803921568528, 5.104475904366)},
    ),
    "offset amplifier": (
        """offset amplifier
V1 in 0 SIN(1 0.5 1k 0 0 45)
R1 in a 10k
R2 a b 10k
C1 a out 10n
C2 b 0 4.7n
E1 out 0 b out 1e5
Rl out 0 10k
""",
        0.00127,
        {"a": (1.353553390593, 1.436056196329), "out": (1.353539855195, 1.477113527326)},
    ),
    "transformer with current": (
        """transformer with current
V1 in 0 SIN(5 2 1k)
R1 in a 10
L1 a 0 10m
L2 b 0 2.5m
K1 L1 L2 0.95
R2 b 0 50
C2 b 0 1u
""",
        0.00161,
        {"a": (0, -1.458714318514), "b": (0, -0.6798910437927)},
    ),
    "released tank": (
        """released tank
I1 0 a PULSE(5m 0 10u 1u 1u 1 2)
L1 a 0 1m
C1 a 0 1u
R1 a 0 470
""",
        0.00031,
        {"a": (0, 0.004701233872308)},
    ),
    "parameters at rest": (
        """parameters at rest
.param vdd=3.3 r0=1k
.subckt stage in out params: r=1k c=100n
R1 in out {r}
C1 out 0 {c}
Rg out 0 {10*r}
.ends
V1 in 0 PWL(0 {vdd} 0.1m {vdd} 0.2m 0 1 0)
X1 in mid stage r={r0}
X2 mid out stage r={2*r0} c=47n
G1 0 g mid out 1m
Rg g 0 1k
Cg g 0 10n
""",
        0.00029,
        {
            "mid": (2.880952380952, 0.8617781435095),
            "out": (2.619047619048, 1.501785878199),
            "g": (0.2619047619048, -0.6572438305501),
        },
    ),
    "current mirror of sources": (
        """current mirror of sources
V1 in 0 DC 2
Vs in a 0
R1 a b 1k
Lb b 0 10m
F1 0 f Vs 2
Rf f 0 500
Cf f 0 1u
H1 h 0 Vs 300
Rh h k 1k
Ck k 0 100n
V2 k2 0 PULSE(0 1 0 10u 10u 0.1m 0.3m)
R3 k2 b 2k
""",
        0.00041,
        {"f": (2, 1.992781465422), "k": (0.6, 0.5944548911736)},
    ),
    "held nodes": (
        """held nodes
V1 in 0 5
R1 in a 1k
C1 a 0 1u
R2 a b 2k
C2 b 0 470n
R3 b 0 10k
.ic V(b)=1
""",
        0.0006,
        {"a": (3.666666666667, 3.806945069428), "b": (1, 2.127917332864)},
    ),
    "logic levels": (
        """logic levels
V1 in 0 PULSE(0 1 50u 5u 5u 80u 200u)
S1 vdd out1 in 0 SA ON
S2 out1 0 in 0 SB
.model SA SW(VT=0.5 VH=0.1 RON=1k ROFF=10MEG)
.model SB SW(VT=-0.5 VH=0.1 RON=2k ROFF=10MEG)
Vd vdd 0 3
C1 out1 0 1n
R1 out1 q 10k
C2 q 0 1n
""",
        9e-05,
        {"out1": (0.0005998800239952, 1.995547750242), "q": (0.0005998800239952, 1.932920744568)},
    ),
}
"""Netlist without UIC, end of the run in s, and node voltages at the operating point and at the end."""
