"""Heat transfer between two temperatures, with the entropy that it produces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.errors import caller_place
from bondgraph.model.arguments import bounded, need_coefficient, need_mapping, one_of, only_with_formula, parameters_of
from bondgraph.model.dissipation import HeatFlow
from bondgraph.model.domains import THERMAL
from bondgraph.model.element import Element, Port
from bondgraph.model.ops import Op, as_op


def HeatTransfer(
    name: str,
    conductance: Any = None,
    *,
    heat: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Return heat transfer from the temperature T1 at port 1 to T2 at port 2: Q = G (T1 - T2) (`conductance`, W/K), or your own
    `heat`(T1, T2, *parameters, *signals), W, as for radiation.

    The ports are true bonds of the domain "thermal" (an irreversible transducer, RS): the entropy Q / T1 flows in at port 1 and
    Q / T2 flows out at port 2, so that energy is conserved and the entropy Q / T2 - Q / T1 is produced. With pseudo-bonds,
    use an R.

    Signals: `<name>.power`, the heat Q; `<name>.entropy`, the entropy produced, W/K; `<name>.1.effort` ... `<name>.2.flow`.

    Raises `ModelError` E110 unless exactly one of `conductance` and `heat` is given, and for `parameters` or `signals` without
    `heat`, and E150 for a function as `conductance`; a model is refused (E153) if a formula without signals moves heat from
    cold to hot.

    Source: Thoma 1975; Karnopp, Margolis and Rosenberg 2012, chapter 12.
    """
    one_of("HeatTransfer", name, conductance=conductance, heat=heat)
    need_mapping("symbols", symbols, '"power": "Q"')
    if heat is None:
        need_coefficient("HeatTransfer", name, "conductance", conductance, "heat=lambda T1, T2: ...")
        only_with_formula("HeatTransfer", name, "conductance", "heat", parameters=parameters, signals=signals)
        law, values = _CONDUCTION, parameters_of({"conductance": bounded(conductance)}, {"conductance": "W/K"})
    else:
        law = HeatFlow(as_op(bound(name, heat, 2, parameters, signals), "heat"))
        values = parameters_of(parameters or {})
    ports = (Port("1", 1, THERMAL), Port("2", 1, THERMAL))
    return Element("RS", name, law, ports, values, paths_of(signals), dict(symbols or {}), THERMAL, None, caller_place())


_CONDUCTION = HeatFlow(Op("conduction", lambda one, other, conductance: conductance * (one - other), r"#3\,(#1 - #2)"))
