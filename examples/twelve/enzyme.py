"""An enzyme converts a substrate by mass action; amounts are in mol, times in s."""

from screwbond import Graph
from screwbond.models import parts


def simulate(bind=3.0, free=2.0, make=5.0, reverse=0.1, enzyme=0.1, substrate=2.0, t_end=20.0):
    text = f"E + S <-> ES : {bind} {free}\nES <-> E + P : {make} {reverse}"
    amounts = {"E": enzyme, "S": substrate, "ES": 1e-6, "P": 1e-6}
    network = parts.chemical.network("flask", text, amounts)
    return Graph("enzyme").add(network).simulate(t_end)
