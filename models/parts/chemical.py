"""Chemical parts: reaction networks, enzymes, membranes and electrodes.

A chemical bond has the potential mu in J/mol and the flow in mol/s. The activity at a port is exp(mu / (R T)); for a species it
is K q, with the constant K of `Ce` in 1/mol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from screwbond.models.parts.reactions import EMPTY, MassAction, Stoichiometry, Text, pack, read_network, refuse_wrong
from screwbond.models.parts.record import Shelf, Value, number

from bondgraph import J0, J1, TF, Block, C, Element, Graph, R, Re, Se, multiport
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_units
from screws.scalars import array, exp, log, maximum, sqrt

SHELF = Shelf("chemical")
GAS = 8.31446261815324
"""Gas constant, J/(mol K)."""
FARADAY = 96485.33212331
"""Charge of a mole of electrons, C/mol."""
TINY = 1e-300
"""Smallest activity in a logarithm."""


@SHELF.law(C, "energy", r"\mu = \text{const}", "Polettini and Esposito 2014", "mu=0 J/mol signed")
def chemostat(q: Value, mu: Value) -> Value:
    """Chemostat with the potential mu; its state is the amount received."""
    return mu * q


@SHELF.part(r"v = P (a_1 - a_2),\quad a = e^{\mu / R T}", "Fick 1855", "P=1 mol/s, T=298.15 K")
def diffusion(name: str, P: Value, T: Value) -> Element:
    """Diffusion with permeability P, from port 1 to port 2."""
    return Re(name, P, RT=GAS * number(T))


def _enzyme(name: str, rate: Callable[..., Value], T: Value, **parameters: Value) -> Element:
    def flows(mu: Value, T: Value, *values: Value) -> Value:
        v = rate(exp(mu[0] / (GAS * T)), exp(mu[1] / (GAS * T)), *values)
        return array([v, -v])

    return multiport("R", name, flows, {"1": "chemical", "2": "chemical"}, passive=True, parameters={"T": T, **parameters})


@SHELF.part(
    r"v = V (a_1 - a_2) / (K_1 + a_1 + a_2 K_1 / K_2)",
    "Michaelis and Menten 1913; Haldane 1930",
    "V=1 mol/s, K1=1, K2=1, T=298.15 K",
)
def michaelis_menten(name: str, V: Value, K1: Value, K2: Value, T: Value) -> Element:
    """Reversible Michaelis-Menten enzyme, substrate at port 1, product at port 2."""
    return _enzyme(name, lambda a, b, V, K1, K2: V * (a - b) / (K1 + a + b * K1 / K2), T, V=V, K1=K1, K2=K2)


@SHELF.part(
    r"v = V a_1^n / (K^n + a_1^n)\,(1 - a_2 / a_1)",
    "Hill 1910; Hofmeyr and Cornish-Bowden 1997",
    "V=1 mol/s, K=1, n=2, T=298.15 K",
)
def hill(name: str, V: Value, K: Value, n: Value, T: Value) -> Element:
    """Cooperative enzyme with the Hill coefficient n, substrate at port 1, product at port 2."""
    return _enzyme(name, lambda a, b, V, K, n: V * a**n / (K**n + a**n) * (1 - b / a), T, V=V, K=K, n=n)


@SHELF.part(
    r"v = P u\,(a_i - a_o e^{-u}) / (1 - e^{-u}),\quad i = z F v,\quad u = z F V / R T",
    "Goldman 1943; Hodgkin and Katz 1949",
    "P=1e-9 mol/s, z=1 signed, T=298.15 K",
)
def membrane(name: str, P: Value, z: Value, T: Value) -> Element:
    """Membrane permeable to an ion of charge z; ports inside, outside, and voltage (of the inside)."""

    def flows(e: Value, P: Value, z: Value, T: Value) -> Value:
        half = z * FARADAY * e[2] / (2 * GAS * T)
        size = sqrt(half * half + 1e-10)  # |half|, smooth at zero
        inside, outside = exp(e[0] / (GAS * T) + half - size), exp(e[1] / (GAS * T) - half - size)
        v = 2 * P * size / (1 - exp(-2 * size)) * (inside - outside)
        return array([v, -v, z * FARADAY * v])

    ports = {"inside": "chemical", "outside": "chemical", "voltage": "electrical"}
    return multiport("R", name, flows, ports, passive=True, parameters={"P": P, "z": z, "T": T})


Gate = tuple[int, Callable[[Value], Value], Callable[[Value], Value]]
"""Exponent of a gate, and its rates of opening and closing as functions of the voltage."""
POTASSIUM: Mapping[str, Gate] = {
    "n": (4, lambda V: 1e4 * (V + 0.055) / (1 - exp(-100 * (V + 0.055))), lambda V: 125 * exp(-(V + 0.065) / 0.08))
}


@SHELF.part(
    r"i = g \prod_k x_k^{p_k}\,(V - E),\quad \dot x = \alpha(V)(1 - x) - \beta(V)\,x",
    "Hodgkin and Huxley 1952",
    "g=3.6e-4 S, E=-0.077 V signed, rest=-0.065 V signed",
    passive=False,
)
def ion_channel(name: str, g: Value, E: Value, rest: Value, gates: Mapping[str, Gate] = POTASSIUM) -> Graph:
    """Ion channel with gates, each with an exponent and rates of opening and closing; gates start in equilibrium at `rest`."""
    part, port, start = Graph(name), J1("port", domain="electrical"), number(rest)

    def flow(e: Value, g: Value, *x: Value) -> Value:
        return prod((each**p for each, (p, *_) in zip(x, gates.values(), strict=True)), start=g) * e

    opening = R("opening", flow=flow, parameters={"g": g}, signals=[f"{each}.x" for each in gates])
    part.connect(port, opening).connect(port, Se("reversal", E))
    for each, (_, opens, closes) in gates.items():
        law = ("rate", lambda V, E, x, a=opens, b=closes: a(V + E) * (1 - x) - b(V + E) * x, ["V", "E", "x"])
        x = opens(start) / (opens(start) + closes(start))
        reads = {"V": "opening.effort", "E": "reversal.effort"}
        part.add(Block(each, [law], inputs=reads, states={"x": x}, rates={"x": "rate"}))
    return part.expose("1", port)


@SHELF.law(
    R,
    "flow",
    r"i = i_0 (e^{\alpha n F \eta / R T} - e^{-(1 - \alpha) n F \eta / R T})",
    "Butler 1924; Erdey-Gruz and Volmer 1930",
    "i0=1e-3 A, alpha=0.5, n=1, T=298.15 K",
    domain="electrical",
)
def electrode(eta: Value, i0: Value, alpha: Value, n: Value, T: Value) -> Value:
    """Electrode (Butler-Volmer) with n electrons and transfer coefficient alpha; eta is the overpotential."""
    u = n * FARADAY * eta / (GAS * T)
    return i0 * (exp(alpha * u) - exp((alpha - 1) * u))


def stoichiometry(text: Text, *, held: Mapping[str, float] = EMPTY, rates: Mapping[str, float] = EMPTY) -> Stoichiometry:
    """Return the structure of a network: matrix, conserved moieties, cycles and the affinities that held amounts impose on them.

    Raises `ModelError` E137 for amounts or rates that are not positive, E570 for an unknown held species, and the errors of
    `network` for the text.

    Source: Polettini and Esposito 2014.
    """
    net = read_network("text", text, held, rates=rates)
    refuse_wrong("text", net.species, above=0.0, held=held)
    return net


MASS_ACTION = (
    r"v_j = k_j^+ \prod_i q_i^{\nu_{ij}^+} - k_j^- \prod_i q_i^{\nu_{ij}^-},\quad \dot q = N v,\quad \mu_i = R T \ln(K_i q_i)"
)


@SHELF.part(MASS_ACTION, "Oster, Perelson and Katchalsky 1973", "T=298.15 K")
@in_units(amounts="mol", chemostats="mol", potentials="J/mol", constants="1/mol")
def network(
    name: str,
    text: Text,
    amounts: Mapping[str, float] = EMPTY,
    *,
    chemostats: Mapping[str, float] = EMPTY,
    potentials: Mapping[str, float] = EMPTY,
    ports: Sequence[str] = (),
    species: str = "",
    rates: Mapping[str, float] = EMPTY,
    contents: Mapping[str, Mapping[str, float]] = EMPTY,
    constants: Mapping[str, float] = EMPTY,
    T: Value = 298.15,
) -> Graph:
    """Mass-action reactions as a string or as rows: "E + S <-> ES : kf kr", or one-way "ES -> E + P : k".

    With `<->` only, the network has potentials, whose constants follow from the rates by detailed balance, and an energy ledger;
    with any `->` it is kinetics without energy. The signal `amounts.X` is the amount of a species X.

    Parameters
    ----------
    amounts : start amounts, mol; zero for other species.
    chemostats, potentials : species that are held at an amount, or at a potential, J/mol, with the constant K = 1.
    ports : species that are stored outside; each is a port.
    species : all species, so that a mistyped species in the text is refused.
    rates : values of the rates that the text names; without energy they are parameters of a run, `amounts.<rate>`.
    contents : conserved quantities of the species, such as {"charge": {"Ca": 2, "ATP": -4}}.
    constants : K of species, 1/mol, if the rates leave a choice. A reaction whose species all have constants may have one rate
        kappa, as a `Re`.

    Raises `ModelError` E137 for invalid amounts and constants, E568 for an unreadable string, E569 for a reaction that does not
    balance, E570 for an unknown species, E571 for a reaction that appears twice, E572 for a cycle without detailed balance,
    constants that contradict the rates, or ports of a network with `->`.
    """
    RT, held = GAS * number(T), {**dict.fromkeys(ports, 1.0), **chemostats, **potentials}
    net = read_network(name, text, held, species=species.split(), rates=rates, contents=contents, constants=constants)
    refuse_wrong(name, net.free, least=0.0, amounts=amounts)
    refuse_wrong(name, net.species, potentials=potentials)
    refuse_wrong(name, net.species, above=0.0, chemostats=chemostats, constants=constants, ports=dict.fromkeys(ports, 1.0))
    field = MassAction(net, amounts)
    if not net.reversible:
        named = {word for reaction in net.reactions for word in reaction.rate_names} - {"q", "rate", *net.species}
        rates = {word: value for word, value in rates.items() if word in named}
        return _kinetics(name, field, {**chemostats, **{each: exp(mu / RT) for each, mu in potentials.items()}}, ports, rates)
    K = net.constants(name, {**dict.fromkeys(potentials, 1.0), **constants})
    by_amount = {each: RT * log(K[each] * x) for each, x in chemostats.items()}
    return _bonds(Graph(name), field, K, RT, {**by_amount, **potentials})


def _kinetics(name: str, field: MassAction, held: Mapping[str, float], ports: Sequence[str], rates: Mapping[str, float]) -> Graph:
    if ports:
        title, why = f'network "{name}": {", ".join(ports)} cannot be a port', 'a reaction with "->" has no potentials'
        raise refusal("E572", title, '"<->" and a reverse rate', about=name, why=why)

    def amounts(q: Value) -> list[Value]:
        return [*field.amounts(q), *(held[each] for each in field.net.held)]

    equations = [
        ("rate", lambda q, *values: pack(field.changes(amounts(q), dict(zip(rates, values, strict=True)))), ["q", *rates]),
        (field.net.species, lambda q: tuple(field.in_order(amounts(q))), ["q"]),
    ]
    part = Graph(name)
    part.add(Block("amounts", equations, states={"q": pack(field.start)}, rates={"q": "rate"}, parameters=dict(rates)))
    return part


def _bonds(part: Graph, field: MassAction, K: Mapping[str, float], RT: float, potentials: Mapping[str, float]) -> Graph:
    net, reactions = field.net, J1("reactions", domain="chemical")

    def energy(q: Value) -> Value:
        each = ((x, K[s], maximum(K[s] * x, TINY)) for s, x in zip(net.free, field.amounts(q), strict=True))
        return sum(RT * (x * log(a) - a / k) for x, k, a in each)

    def amounts(q: Value, *mu: Value) -> list[Value]:
        return [*field.amounts(q), *(exp(m / RT) / K[s] for s, m in zip(net.held, mu, strict=True))]

    def rates(A: Value, *read: Value) -> Value:
        return pack(field.rates(amounts(*read)))

    paths = {"q": "storage.q", **{f"{each} potential": f"{each}.effort" for each in net.held}}
    law = R("rates", flow=rates, signals=[*paths.values()], dimension=len(net.reactions), domain="chemical")
    part.connect(reactions, law)
    part.add(Block("amounts", [(net.species, lambda *read: tuple(field.in_order(amounts(*read))), [*paths])], inputs=paths))
    storage = C("storage", energy=energy, initial=pack(field.start), domain="chemical")
    ends = [(storage, field.states), *((J0(each, domain="chemical"), (each,)) for each in net.held)]
    for end, species in ends:
        numbers = TF(f"{end.name} numbers", pack(net.rows(species)), structural=True)
        part.connect(reactions, numbers.port("1")).connect(numbers.port("2"), end)
        if end.name in potentials:
            part.connect(end, chemostat(f"{end.name} chemostat", potentials[end.name]))
        elif end is not storage:
            part.expose(end.name, end)
    return part
