"""Parts of motion: gears, clutches, friction, springs, stops, tyres and linkages.

The flow of a part with one port is the velocity of its end relative to its start, and its effort pulls both ends together.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from screwbond.models.parts.record import Shelf, Value, modulated, number

from bondgraph import J0, J1, MTF, TF, Block, C, Diode, Element, Friction, Graph, R, multiport
from bondgraph.signals import characteristic_map, curve
from screws.scalars import absolute, atan, cos, exp, expm1, less, maximum, minimum, sin, sqrt, tanh, where

SHELF = Shelf("motion")
_TURNING = ("rotation", "rotation")
_TO_LINE = ("rotation", "translation")
Curve = Callable[..., Value]


# --- gears


@SHELF.part(r"\omega_1 = n\,\omega_2,\quad \tau_2 = n\,\tau_1", "Karnopp, Margolis and Rosenberg 2012", "n=10 signed")
def gear(name: str, n: Value) -> Element:
    """Lossless gear; the second shaft is n times slower, and reversed for negative n."""
    return MTF(name, lambda n: 1 / n, parameters={"n": n}, domains=_TURNING)


@SHELF.part(r"(1 + k)\,\omega_c = \omega_s + k\,\omega_r", "Willis 1870", "k=2")
def planetary_gear(name: str, k: Value) -> Graph:
    """Planetary gear, ring-to-sun tooth ratio k; ports sun, ring and carrier."""
    part, carrier = Graph(name), J0("carrier", domain="rotation")
    for wheel, share in (("sun", lambda k: 1 / (1 + k)), ("ring", lambda k: k / (1 + k))):
        mesh = MTF(f"mesh {wheel}", share, parameters={"k": k}, domains=_TURNING)
        part.connect(mesh.port("2"), carrier).expose(wheel, mesh.port("1"))
    return part.expose("carrier", carrier)


@SHELF.part(r"v = r\,\omega,\quad \tau = r F", "Karnopp, Margolis and Rosenberg 2012", "r=0.02 m signed")
def rack_and_pinion(name: str, r: Value) -> Element:
    """Rack and pinion, or drum and rope, of radius r; port 1 rotates, and port 2 translates."""
    return TF(name, r, domains=_TO_LINE)


@SHELF.part(r"v = h\,\omega / (2\pi),\quad \tau = h F / (2\pi)", "Karnopp, Margolis and Rosenberg 2012", "lead=0.005 m signed")
def lead_screw(name: str, lead: Value) -> Element:
    """Lossless lead screw, which moves by its lead per turn; port 1 rotates, and port 2 translates."""
    return MTF(name, lambda lead: lead / (2 * pi), parameters={"lead": lead}, domains=_TO_LINE)


LOSSY = r"\omega_1 = n\,\omega_2;\quad \tau_2 = n\,\eta^{\pm 1} \tau_1,\ \pm = \operatorname{sgn}(\tau_1 \omega_1)"


def _lossy(name: str, n: Value, efficiencies: Callable[..., tuple[Value, Value]], parameters: dict[str, Value]) -> Graph:
    part, shaft, core = Graph(name), J1("shaft", domain="rotation"), gear("core", n)

    def lost(*values: Value) -> Value:
        *numbers, load = values
        drive, driven = efficiencies(*numbers)
        ahead, back = 1 / drive - 1, 1 - driven
        return ((ahead - back) * load + (ahead + back) * absolute(load)) / 2

    def lost_backward(*values: Value) -> Value:
        return lost(*values[:-1], -values[-1])

    loss = Friction("loss", 1.0, scale=lost, backward=lost_backward, parameters=parameters, signals="core.1.effort")
    return part.connect(shaft, core).connect(shaft, loss).expose("1", shaft).expose("2", core.port("2"))


@SHELF.part(LOSSY, "Pelchen, Schweiger and Otter 2002", "n=10 signed, eta=0.9")
def lossy_gear(name: str, n: Value, eta: Value) -> Graph:
    """Gear with efficiency eta (0 to 1) in both directions; locks if neither torque can overcome the other."""
    return _lossy(name, n, lambda eta: (eta, eta), {"eta": eta})


@SHELF.part(
    r"\eta_1 = (1 - \mu \tan\gamma) / (1 + \mu / \tan\gamma),\quad \eta_2 = (1 - \mu / \tan\gamma) / (1 + \mu \tan\gamma)",
    "Shigley and Uicker 1995, section 9.2, without pressure angle",
    "n=30 signed, lead=0.1 rad, mu=0.05",
)
def worm_gear(name: str, n: Value, lead: Value, mu: Value) -> Graph:
    """Worm (port 1) and wheel with friction mu; self-locking if mu exceeds tan(lead)."""

    def efficiencies(lead: Value, mu: Value) -> tuple[Value, Value]:
        slope = sin(lead) / cos(lead)
        return (1 - mu * slope) / (1 + mu / slope), (1 - mu / slope) / (1 + mu * slope)

    return _lossy(name, n, efficiencies, {"lead": lead, "mu": mu})


@SHELF.part(
    r"F_1 = e^{\pm\mu\alpha} F_2\ \text{(slip)};\quad v = r\,\omega\ \text{(grip)}",
    "Euler 1762",
    "r=0.1 m, mu=0.3, wrap=3.1416 rad",
)
def belt(name: str, r: Value, mu: Value, wrap: Value) -> Graph:
    """Belt around a pulley, with the wrap angle `wrap`; ports 1 and 2 are its strands, and strand 1 pulls the shaft forward."""
    part, strand = Graph(name), TF("strand", 1.0, domains=("translation", "translation"))
    rope, rim, pulley = J1("rope", domain="translation"), J1("rim", domain="translation"), rack_and_pinion("pulley", r)
    numbers, paths = {"mu": mu, "wrap": wrap}, {"load": "strand.1.effort"}

    def ahead(load: Value, mu: Value, wrap: Value) -> Value:
        return expm1(mu * wrap) * maximum(load, 0.0)

    def back(load: Value, mu: Value, wrap: Value) -> Value:
        return -ahead(load, -mu, wrap)

    part.between(rim, rope, Friction("grip", 1.0, scale=ahead, backward=back, parameters=numbers, signals=paths))
    part.connect(rope, strand).connect(pulley.port("2"), rim)
    return part.expose("1", rope).expose("2", strand.port("2")).expose("shaft", pulley.port("1"))


CONVERTER = (
    r"\tau_1 = k \lvert\omega_1\rvert (\omega_1 - \omega_2),\quad \tau_2 = \min(R, \max(1, R - (R - 1) \nu / \nu_c)) \tau_1"
)


@SHELF.part(CONVERTER, "Hrovat and Tobler 1985, piecewise linear", "k=3e-3 N m s^2/rad^2, stall=2, coupling=0.85")
def torque_converter(name: str, k: Value, stall: Value, coupling: Value) -> Element:
    """Torque converter with torque ratio `stall` while the turbine is at rest; a fluid coupling above the speed ratio `coupling`.

    Ports pump and turbine.
    """

    def torques(w: Value, k: Value, stall: Value, coupling: Value) -> Value:
        size, along = absolute(w[0]), where(less(w[0], 0.0), -w[1], w[1])
        ratio = minimum(stall * size, maximum(size, stall * size - (stall - 1) * along / coupling))
        return [k * size * (w[0] - w[1]), -k * ratio * (w[0] - w[1])]

    numbers, shafts = {"k": k, "stall": stall, "coupling": coupling}, dict.fromkeys(("pump", "turbine"), "rotation")
    return multiport("R", name, torques, shafts, gives="effort", passive=True, parameters=numbers)


ENGINE = characteristic_map([0.0, 100.0, 300.0, 500.0], [0.0, 1.0], [[0.0, 80.0], [-10.0, 150.0], [-20.0, 180.0], [-40.0, 120.0]])


@SHELF.part(r"\tau = M(\omega, u)", "Heywood 1988, chapter 15", "throttle=1 signal", passive=False)
def engine_map(name: str, throttle: Value, torque: Curve = ENGINE) -> Element:
    """Engine with a `characteristic_map`: torque in N m as a function of speed in rad/s and throttle."""
    numbers, signals = modulated(u=throttle)
    return R(name, effort=lambda w, u: -torque(w, u), parameters=numbers, signals=signals, domain="rotation")


# --- clutches


@SHELF.part(
    r"\omega = 0,\ \lvert\tau\rvert \le h u M\ \text{(stick)};\quad \tau = u M \operatorname{sgn}\omega\ \text{(slip)}",
    "Coulomb 1785",
    "M=10 N m, hold=1, pressure=1 signal",
)
def clutch(name: str, M: Value, hold: Value, pressure: Value) -> Element:
    """Clutch or brake with torque M at pressure 1, which sticks up to `hold` times this torque; the pressure may be a signal."""
    numbers, signals = modulated(u=pressure)
    stick_limit = number(M) * number(hold)
    return Friction(
        name, M, stick_limit=stick_limit, scale=lambda u: maximum(u, 0.0), parameters=numbers, signals=signals, domain="rotation"
    )


@SHELF.part(
    r"\omega = 0,\ \lvert\tau\rvert \le M\ \text{(hold)};\quad \tau = M_s \operatorname{sgn}\omega\ \text{(slip)}",
    "Shigley and Uicker 1995",
    "M=10 N m, slip=1 N m",
)
def torque_limiter(name: str, M: Value, slip: Value) -> Element:
    """Torque limiter: disengages at torque M, slips at a lower torque, and engages again at equal speeds."""
    return Friction(name, slip, stick_limit=M, domain="rotation")


@SHELF.part(r"\omega \ge 0 \perp \tau \le 0", "Karnopp and Rosenberg 1992")
def one_way_clutch(name: str) -> Element:
    """One-way clutch: the end may rotate faster than the start, never slower."""
    return Diode(name, initial="closed", domain="rotation")


# --- friction and brakes

STRIBECK = r"F = (F_c + (F_s - F_c) e^{-\lvert v \rvert / v_s}) \tanh(v / v_0) + b\,v"


@SHELF.law(R, "effort", STRIBECK, "Stribeck 1902", "Fs=10 N, Fc=6 N, vs=0.1 m/s, b=1 N s/m, v0=1e-3 m/s", domain="translation")
def stribeck_friction(v: Value, Fs: Value, Fc: Value, vs: Value, b: Value, v0: Value) -> Value:
    """Stribeck friction, smoothed below v0; `Friction` sticks exactly."""
    return (Fc + (Fs - Fc) * exp(-absolute(v) / vs)) * tanh(v / v0) + b * v


BEARING = curve([0.0, 1.0, 10.0, 100.0], [1.0, 0.6, 0.7, 1.5])


@SHELF.part(
    r"\tau = M(\lvert\omega\rvert) \tanh(\omega / \omega_0)", "Modelica Standard Library, BearingFriction", "w0=1e-3 rad/s"
)
def bearing_friction(name: str, w0: Value, torque: Curve = BEARING) -> Element:
    """Bearing friction with a `curve`: torque in N m versus speed in rad/s, smoothed below w0; `Friction` sticks exactly."""

    def effort(w: Value, w0: Value) -> Value:
        return torque(absolute(w)) * tanh(w / w0)

    return R(name, effort=effort, parameters={"w0": w0}, passive=True, domain="rotation")


@SHELF.part(
    r"F = \sigma_0 z + \sigma_1 \dot z + \sigma_2 v,\quad"
    r" \dot z = v - \sigma_0 z \lvert v \rvert / (F_c + (F_s - F_c) e^{-(v / v_s)^2})",
    "Canudas de Wit et al. 1995, (1) to (3)",
    "Fs=1.5 N, Fc=1 N, vs=1e-3 m/s, sigma0=1e5 N/m, sigma1=316 N s/m, sigma2=0.4 N s/m",
    passive=False,
)
def lugre_friction(name: str, Fs: Value, Fc: Value, vs: Value, sigma0: Value, sigma1: Value, sigma2: Value) -> Graph:
    """LuGre bristle friction with presliding; passive if sigma2 Fc >= sigma1 (Fs - Fc)."""
    part, bristles = Graph(name), J0("bristles", domain="translation")

    def slip(_: Value, force: Value, v: Value, Fs: Value, Fc: Value, vs: Value) -> Value:
        return force * absolute(v) / (Fc + (Fs - Fc) * exp(-((v / vs) ** 2)))

    paths = {"force": "deflection.effort", "v": "viscous.flow"}
    slide = part.series(R("viscous", damping=sigma2, domain="translation"))
    bend = part.series(C("deflection", stiffness=sigma0, domain="translation"), R("bend", damping=sigma1))
    part.connect(slide, bristles).connect(bristles, bend)
    part.connect(bristles, R("slip", flow=slip, parameters={"Fs": Fs, "Fc": Fc, "vs": vs}, signals=paths))
    return part.expose("1", slide)


@SHELF.law(R, "effort", r"F = c\, v \lvert v \rvert", "Rayleigh 1876", "c=0.4 N s^2/m^2", domain="translation")
def drag(v: Value, c: Value) -> Value:
    """Quadratic drag; c = density x area x drag coefficient / 2."""
    return c * v * absolute(v)


@SHELF.law(
    R, "effort", r"F = C_r N \tanh(v / v_0)", "Gillespie 1992", "Cr=0.015, N=4000 N signal, v0=0.01 m/s", domain="translation"
)
def rolling_resistance(v: Value, Cr: Value, N: Value, v0: Value) -> Value:
    """Rolling resistance under the load N."""
    return Cr * N * tanh(v / v0)


@SHELF.law(
    R,
    "effort",
    r"\tau = 2 M / (\omega / \omega_0 + \omega_0 / \omega)",
    "Smythe 1942",
    "M=10 N m, w0=50 rad/s signal",
    domain="rotation",
)
def eddy_current_brake(w: Value, M: Value, w0: Value) -> Value:
    """Eddy-current brake with maximum torque M at speed w0."""
    return 2 * M * w * w0 / (w * w + w0 * w0)


# --- springs and stops


@SHELF.law(C, "energy", r"F = k x + h x^3", "Duffing 1918", "k=1 N/m, h=1 N/m^3 signed", domain="translation")
def hardening_spring(x: Value, k: Value, h: Value) -> Value:
    """Cubic (Duffing) spring; softening if h is negative."""
    return k * x**2 / 2 + h * x**4 / 4


@SHELF.law(C, "energy", r"F = F_0 (1 - (1 + x / l)^{-n})", "Bauer 2010", "F0=500 N, length=0.2 m, n=1.3", domain="translation")
def gas_spring(x: Value, F0: Value, length: Value, n: Value) -> Value:
    """Gas spring: polytropic gas column that carries the load F0 at x = 0; negative x compresses it."""
    return F0 * (x + length * ((1 + x / length) ** (1 - n) - 1) / (n - 1))


@SHELF.part(r"F = k x + c v", "Voigt 1892", "k=2e4 N/m, c=1500 N s/m")
def strut(name: str, k: Value, c: Value) -> Graph:
    """Spring and damper in parallel."""
    part = Graph(name)
    return part.expose("1", part.series(C("spring", stiffness=k, domain="translation"), R("damper", damping=c)))


def _gap(depth: Callable[..., Value], ends: dict[str, Value], k: Value, c: Value, x0: Value, part: Graph, domain: str) -> Graph:
    def energy(x: Value, k: Value, *ends: Value) -> Value:
        return k * depth(x, *ends) ** 2 / 2

    def damping(v: Value, k: Value, c: Value, *others: Value) -> Value:
        *ends, x = others
        limit = absolute(k * depth(x, *ends))
        return maximum(-limit, minimum(c * v, limit))

    spring = C("spring", energy=energy, parameters={"k": k, **ends}, initial=x0)
    damper = R("damper", effort=damping, parameters={"k": k, "c": c, **ends}, signals=["spring.q"])
    pin = J1("gap", domain=domain)
    return part.connect(pin, spring).connect(pin, damper).expose("1", pin)


GAP = r"F = k d + \min(\max(c v, -k \lvert d \rvert), k \lvert d \rvert),\quad d = "


@SHELF.part(
    GAP + r"\max(x - x_+, 0) + \min(x - x_-, 0)",
    "Goldsmith 1960",
    "low=-0.01 m signed, high=0.01 m signed, k=1e6 N/m, c=1e3 N s/m, x0=0 m signed",
)
def stop(name: str, low: Value, high: Value, k: Value, c: Value, x0: Value) -> Graph:
    """Elastic end stops, which never pull; x starts at x0."""

    def beyond(x: Value, low: Value, high: Value) -> Value:
        return maximum(x - high, 0.0) + minimum(x - low, 0.0)

    return _gap(beyond, {"low": low, "high": high}, k, c, x0, Graph(name), "translation")


@SHELF.part(GAP + r"\min(x, 0)", "Modelica Standard Library, ElastoGap", "k=1e6 N/m, c=1e3 N s/m, x0=0 m signed")
def elasto_gap(name: str, k: Value, c: Value, x0: Value) -> Graph:
    """Elastic contact of two ends at distance x, open while x is positive; x starts at x0."""
    return _gap(lambda x: minimum(x, 0.0), {}, k, c, x0, Graph(name), "translation")


@SHELF.part(
    GAP + r"\max(\varphi - \beta / 2, 0) + \min(\varphi + \beta / 2, 0)",
    "Nordin and Gutman 2002",
    "angle=0.02 rad, k=1e4 N m/rad, c=10 N m s/rad, x0=0 rad signed",
)
def backlash(name: str, angle: Value, k: Value, c: Value, x0: Value) -> Graph:
    """Elastic shaft with a total backlash of `angle`; its twist starts at x0."""

    def beyond(x: Value, angle: Value) -> Value:
        return maximum(x - angle / 2, 0.0) + minimum(x + angle / 2, 0.0)

    return _gap(beyond, {"angle": angle}, k, c, x0, Graph(name), "rotation")


# --- tyres

MAGIC = "B=10, Cs=1.9, D=1, N=4000 N signal, speed=20 m/s signal signed, v0=0.1 m/s"


def _slip(v: Value, speed: Value, v0: Value) -> Value:
    return v / maximum(absolute(speed), v0)


@SHELF.law(
    R,
    "effort",
    r"F = D N \sin(C \arctan(B s)),\quad s = v / \max(\lvert u \rvert, v_0)",
    "Pacejka 2002, section 4.3",
    MAGIC,
    domain="translation",
)
def tyre(v: Value, B: Value, Cs: Value, D: Value, N: Value, speed: Value, v0: Value) -> Value:
    """Longitudinal tyre force at the slip velocity v = r w - u; `speed` is the velocity u of the wheel centre."""
    return D * N * sin(Cs * atan(B * _slip(v, speed, v0)))


@SHELF.law(
    R,
    "effort",
    r"F = D N \sin(C \arctan(B \alpha)),\quad \tan\alpha = v / \max(\lvert u \rvert, v_0)",
    "Pacejka 2002, section 4.3",
    MAGIC,
    domain="translation",
)
def tyre_sideways(v: Value, B: Value, Cs: Value, D: Value, N: Value, speed: Value, v0: Value) -> Value:
    """Lateral tyre force at the lateral velocity v; `speed` is the longitudinal velocity u."""
    return D * N * sin(Cs * atan(B * atan(_slip(v, speed, v0))))


@SHELF.part(
    r"F = D N \sin(C \arctan(B s)),\quad \sigma \dot s = v - \lvert u \rvert s",
    "Pacejka 2002, section 7.2",
    "B=10, Cs=1.9, D=1, N=4000 N signal, speed=20 m/s signal signed, sigma=0.3 m",
    passive=False,
)
def relaxing_tyre(name: str, B: Value, Cs: Value, D: Value, N: Value, speed: Value, sigma: Value) -> Graph:
    """Longitudinal or lateral tyre whose slip builds up over the relaxation length sigma; also valid at rest."""
    part, (numbers, signals) = Graph(name), modulated(u=speed, sigma=sigma)
    relaxing = [("ds", lambda v, s, u, sigma: (v - absolute(u) * s) / sigma, ("v", "s", "u", "sigma"))]
    inputs = {"v": "force.flow", **signals}
    part.add(Block("slip", relaxing, inputs=inputs, states={"s": 0.0}, rates={"s": "ds"}, parameters=numbers))

    def force(_: Value, B: Value, Cs: Value, D: Value, N: Value, s: Value) -> Value:
        return D * N * sin(Cs * atan(B * s))

    numbers, signals = modulated(B=B, Cs=Cs, D=D, N=N)
    patch = R("force", effort=force, parameters=numbers, signals={**signals, "s": "slip.s"}, domain="translation")
    return part.expose("1", part.series(patch))


# --- linkages


def _linkage(name: str, rate: Callable[..., Value], parameters: dict[str, Value]) -> Graph:
    part = Graph(name)
    part.add(Block("angle", [], inputs={"w": "crank.flow"}, states={"phi": 0.0}, rates={"phi": "w"}))
    lever = MTF("lever", rate, parameters=parameters, signals={"phi": "angle.phi"}, domains=_TO_LINE)
    crank = J1("crank", domain="rotation")
    return part.connect(crank, lever).expose("crank", crank).expose("slide", lever.port("2"))


@SHELF.part(r"x = r \cos\varphi + \sqrt{l^2 - r^2 \sin^2\varphi}", "Shigley and Uicker 1995", "r=0.05 m, length=0.15 m")
def slider_crank(name: str, r: Value, length: Value) -> Graph:
    """Massless slider crank; ports crank and slide."""

    def rate(phi: Value, r: Value, length: Value) -> Value:
        return -r * sin(phi) * (1 + r * cos(phi) / sqrt(length**2 - (r * sin(phi)) ** 2))

    return _linkage(name, rate, {"r": r, "length": length})


@SHELF.part(r"x = h (1 - \cos\varphi) / 2", "Norton 2009", "lift=0.02 m")
def cam(name: str, lift: Value) -> Graph:
    """Massless harmonic cam; ports crank and slide."""
    return _linkage(name, lambda phi, lift: lift * sin(phi) / 2, {"lift": lift})
