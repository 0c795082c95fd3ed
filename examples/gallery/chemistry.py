"""Public stiff test problems of chemical kinetics, as networks from text; amounts have the units of the originals."""

from __future__ import annotations

from screwbond.models.parts.chemical import network

from bondgraph import Block, Graph
from examples.gallery.record import Collection
from screws.scalars import array

MODELS = Collection("Chemical kinetics")
SETS = "Test Set for IVP Solvers, "


def amounts(species: str) -> dict[str, str]:
    return {name: f"amounts.{name}" for name in species.split()}


HIRES = "Pr Pfr PrX PfrX PrX2 PfrX2 PfrX2E E"


@MODELS.model(SETS + "HIRES", statements=16, t_end=321.8122, signals=amounts(HIRES), tolerance=1e-7)
def hires() -> Graph:
    """High irradiance responses of photomorphogenesis (Schaefer 1975)."""
    text = """-> Pr : 0.0007; Pr -> Pfr : 1.71; Pfr -> Pr : 0.43; PrX -> Pr : 8.32; Pfr -> PfrX : 8.32; PrX -> PfrX : 1.71;
    PfrX -> PrX : 0.43; PrX2 -> PrX : 0.035; PfrX -> PfrX2 : 0.69; PrX2 -> PfrX2 : 1.71; PfrX2 -> PrX2 : 0.43;
    PfrX2 + E -> PfrX2E : 280; PfrX2E -> PrX2 + E : 0.43; PfrX2E -> PfrX2 + E : 0.69; PfrX2E -> E : 0.69"""
    return network("HIRES", text, {"Pr": 1.0, "E": 0.0057})


@MODELS.model(SETS + "ROBER", statements=6, t_end=1e11, signals=amounts("A B C"), tolerance=1e-6)
def robertson() -> Graph:
    """Three reactions whose rates differ by nine decades (Robertson 1966)."""
    return network("Robertson", "A -> B : 0.04; 2 B -> B + C : 3e7; B + C -> A + C : 1e4", {"A": 1.0})


@MODELS.model(SETS + "E5", statements=8, t_end=1e13, signals=amounts("y1 y2 y3 y4"), tolerance=2e-3, least=1e-14)
def e5() -> Graph:
    """Pyrolysis whose radicals decay over thirteen decades while they annihilate each other (Datta 1967)."""
    text = "y1 -> y2 + y3 : 7.89e-10; y1 + y3 -> y4 : 1.1e7; y2 + y3 -> : 1.13e9; y4 -> y3 : 1.13e3"
    return network("E5", text, {"y1": 1.76e-3})


POLLU = "NO2 NO O3P O3 HO2 OH HCHO CO ALD MEO2 C2O3 CO2 PAN CH3O HNO3 O1D SO2 SO4 NO3 N2O5"


@MODELS.model(SETS + "POLLU", statements=65, t_end=60.0, signals=amounts(POLLU), tolerance=1e-8)
def pollution() -> Graph:
    """Air pollution: 25 reactions of 20 species (Verwer 1994)."""
    text = """NO2 -> NO + O3P : 0.35; NO + O3 -> NO2 : 26.6; HO2 + NO -> NO2 + OH : 1.23e4;
    HCHO -> 2 HO2 + CO : 8.6e-4; HCHO -> CO : 8.2e-4; HCHO + OH -> HO2 + CO : 1.5e4; ALD -> MEO2 + HO2 + CO : 1.3e-4;
    ALD + OH -> C2O3 : 2.4e4; C2O3 + NO -> NO2 + MEO2 + CO2 : 1.65e4; C2O3 + NO2 -> PAN : 9e3; PAN -> C2O3 + NO2 : 0.022;
    MEO2 + NO -> CH3O + NO2 : 1.2e4; CH3O -> HCHO + HO2 : 1.88; NO2 + OH -> HNO3 : 1.63e4; O3P -> O3 : 4.8e6;
    O3 -> O1D : 3.5e-4; O3 -> O3P : 0.0175; O1D -> 2 OH : 1e8; O1D -> O3P : 4.44e11; SO2 + OH -> SO4 + HO2 : 1.24e3;
    NO3 -> NO : 2.1; NO3 -> NO2 + O3P : 5.78; NO2 + O3 -> NO3 : 0.0474; NO3 + NO2 -> N2O5 : 1.78e3;
    N2O5 -> NO3 + NO2 : 3.12"""
    return network("pollution", text, {"NO": 0.2, "O3": 0.04, "HCHO": 0.1, "CO": 0.3, "ALD": 0.01, "SO2": 0.007})


REACTOR = {"HBrO2": "reactor.y[0]", "Br": "reactor.y[1]", "Ce4": "reactor.y[2]"}


@MODELS.model(SETS + "OREGO", statements=6, t_end=360.0, signals=REACTOR, tolerance=3e-5)
def oregonator() -> Graph:
    """Oscillations of the Belousov-Zhabotinsky reaction (Field and Noyes 1974), in its own units."""

    def change(y):
        a, b, c = y
        return array([77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)])

    graph = Graph("Oregonator")
    graph.add(Block("reactor", [("rate", change, "y")], states={"y": [1.0, 2.0, 3.0]}, rates={"y": "rate"}))
    return graph


@MODELS.model(
    "Sel'kov 1968 as in Strogatz 2014, glycolysis", statements=4, t_end=60.0, signals=amounts("ADP F6P"), tolerance=1e-5
)
def glycolysis() -> Graph:
    """Oscillations of glycolysis, with phosphofructokinase activated by its product; dimensionless."""
    text = "-> F6P : 0.6; F6P -> ADP : 0.08; F6P + 2 ADP -> 3 ADP : 1; ADP -> : 1"
    return network("glycolysis", text, {"ADP": 1.0, "F6P": 1.0})


WORK = "W WK Wp WpP K P"


@MODELS.model("Goldbeter and Koshland 1981, phosphorylation", statements=12, t_end=2e4, signals=amounts(WORK), tolerance=1e-6)
def phosphorylation() -> Graph:
    """Protein between a kinase and a phosphatase that work at saturation, so it switches almost completely (zero-order)."""
    text = "W + K <-> WK : 1 0.01; WK -> Wp + K : 0.01; Wp + P <-> WpP : 1 0.01; WpP -> W + P : 0.008"
    return network("phosphorylation", text, {"W": 1.0, "K": 0.01, "P": 0.01})
