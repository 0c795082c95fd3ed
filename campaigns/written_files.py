"""Mutated handwritten files: each must be refused with a code, or give the same model as an independent reader, if there is one.

`python -m campaigns.written_files --count 10000 --seed 1` mutates short files, netlists, SBML files and model descriptions of
FMUs. The independent reader of short files is `written_scripts`, that of SBML is libsbml, and that of descriptions is FMPy;
netlists have none. Every model is also saved, loaded and run again. There must be no traceback, hang or excessive memory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from screwbond.models.netlist import parse_netlist
from screwbond.models.sbml import SBMLNetwork, parse_sbml

from bondgraph import Result, ScrewbondError, compile_model
from bondgraph.graph.builder import Graph
from bondgraph.interchange import dump_model, parse_graph
from bondgraph.interchange.fmu.description import Description, description_of
from campaigns.model_files import differences, limited
from campaigns.processes import Progress, each
from campaigns.saved import unequal
from campaigns.written_scripts import script_of
from tests.interchange.short.twins import TWINS, WITH_PARTS
from tests.models.netlist.circuits import CIRCUITS, RESTING
from tests.models.sbml.networks import NETWORKS

WORDS: Mapping[str, str] = {
    "short": "q ** ( [ { : -> 9999 1e308 1e-320 .inf - k**q**q __import__ lambda *x &x null {} [] ' \" # R C Block nan % /0 ² 𝐪",
    "netlist": "{ } ' ( = + * . x 1e999 meg .subckt .ends k1 {1/0} ; é -1 0 {r} params: uic pulse( pwl( sin( 1e-300 .ic ² 9",
    "sbml": '< > & " 0 -1 nan INF 1e400 <apply> </ci> <times/> kf ES <!ENTITY </model> <cn> <piecewise> <power/> <!-- ]]> ²',
    "fmu": '< > & " 0 -1 nan INF 1e400 </Float64> <Dimension/> ² 99999999999 2.0 3.0 input <!ENTITY <!DOCTYPE encoding="x"',
}
_DESCRIPTIONS = (
    """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="c" instantiationToken="{t}">
<CoSimulation modelIdentifier="c" canHandleVariableCommunicationStepSize="true"/>
<ModelVariables>
<Float64 name="time" valueReference="9" causality="independent" variability="continuous"/>
<Float64 name="error" valueReference="0" causality="input" start="0.5" unit="rad"/>
<Float64 name="effort.y" valueReference="1" causality="output"/>
<Float64 name="row" valueReference="2" causality="parameter" variability="tunable" start="1 2"><Dimension start="2"/></Float64>
<Int32 name="count" valueReference="4" causality="output"/>
<Boolean name="on" valueReference="5" causality="parameter" variability="tunable" start="true"/>
<String name="word" valueReference="6" causality="parameter" variability="fixed"><Start value="a"/></String>
</ModelVariables><ModelStructure><Output valueReference="1"/></ModelStructure></fmiModelDescription>
""",
    """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="c" guid="{t}">
<CoSimulation modelIdentifier="c" canBeInstantiatedOnlyOncePerProcess="true"/>
<ModelVariables>
<ScalarVariable name="error" valueReference="0" causality="input"><Real start="0.5" unit="rad"/></ScalarVariable>
<ScalarVariable name="effort.y" valueReference="1" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="count" valueReference="4" causality="output" variability="discrete"><Integer/></ScalarVariable>
<ScalarVariable name="word" valueReference="6" causality="parameter" variability="fixed"><String start="a"/></ScalarVariable>
</ModelVariables><ModelStructure><Outputs><Unknown index="2"/></Outputs></ModelStructure></fmiModelDescription>
""",
)
TEXTS: Mapping[str, Callable[[], list[str]]] = {
    "short": lambda: [text for name, text in TWINS.items() if name not in WITH_PARTS],
    "netlist": lambda: [
        *(f"{text}.tran 1u 1m uic\n" for text, *_ in CIRCUITS.values()),
        *(text for text, *_ in RESTING.values()),
    ],
    "sbml": lambda: [network.text() for network in NETWORKS.values()],
    "fmu": lambda: list(_DESCRIPTIONS),
}
READ: Mapping[str, Callable[[str], Any]] = {
    "short": parse_graph,
    "netlist": parse_netlist,
    "sbml": parse_sbml,
    "fmu": lambda text: description_of(Path("mutant.fmu"), text.encode("utf-8", "surrogatepass")),
}


def _model_text(graph: Graph) -> str:
    def plain(content: Any) -> Any:
        if isinstance(content, dict):
            return {key: plain(value) for key, value in content.items() if key != "place"}
        return [plain(value) for value in content] if isinstance(content, list) else content

    return json.dumps(plain(json.loads(dump_model(graph))))


def of_script(text: str, graph: Graph) -> list[str]:
    """Return the differences between a short file's graph and the graph of the equivalent script."""
    script = script_of(text)
    try:
        return [] if _model_text(graph) == _model_text(script) else ["the model of the script"]
    except ScrewbondError as error:
        if error.problems[0].code != "E350":  # a delay cannot be saved: compare runs
            raise
    runs = [compile_model(each, backend="numpy", progress=False).simulate(0.02, max_steps=10) for each in (graph, script)]
    return unequal(*runs)


def of_libsbml(text: str, network: SBMLNetwork) -> list[str]:
    """Return the species whose start amounts or rates differ from those of the formulas that libsbml writes after expanding
    functions and initial assignments."""
    import libsbml

    document = libsbml.readSBMLFromString(text)
    for word in ("expandFunctionDefinitions", "expandInitialAssignments", "promoteLocalParameters"):
        properties = libsbml.ConversionProperties()
        properties.addOption(word, True)
        if document.convert(properties) != libsbml.LIBSBML_OPERATION_SUCCESS:
            return []
    model = document.getModel()
    values: dict[str, float] = {item.getId(): item.getValue() for item in model.getListOfParameters()}
    sizes = {item.getId(): item.getSize() for item in model.getListOfCompartments()}
    amounts, held = dict[str, float](), set[str]()
    for item in model.getListOfSpecies():
        name, size = item.getId(), sizes[item.getCompartment()]
        amounts[name] = item.getInitialConcentration() * size if item.isSetInitialConcentration() else item.getInitialAmount()
        values[name] = amounts[name] if item.getHasOnlySubstanceUnits() else amounts[name] / size
        if item.getBoundaryCondition() or item.getConstant():
            held.add(name)
    rates, terms = dict.fromkeys(amounts, 0.0), dict.fromkeys(amounts, 0.0)
    for reaction in model.getListOfReactions():
        infix = libsbml.formulaToL3String(reaction.getKineticLaw().getMath())
        rate = _infix(infix, values | sizes)
        for sign, side in ((-1.0, reaction.getListOfReactants()), (1.0, reaction.getListOfProducts())):
            for part in side:
                count = part.getStoichiometry() if part.isSetStoichiometry() else 1.0
                rates[part.getSpecies()] += sign * count * rate
                terms[part.getSpecies()] += abs(count * rate)
    result = compile_model(network.graph, backend="numpy", progress=False).simulate(1e-9, samples=[0.0, 1e-9], max_steps=10)
    if not isinstance(result, Result) or not len(result.t):
        return []
    found = []
    for name in amounts:
        if name in held or not math.isfinite(terms[name]):
            continue
        amount, rate = (f"{name}.q", f"{name}.flow") if network.has_bonds else (f"network.{name}", f"network.{name} rate")
        sign = -1.0 if network.has_bonds else 1.0  # half arrows point out of Ce
        close = math.isclose(result[amount][0], amounts[name], rel_tol=1e-12, abs_tol=1e-300)
        if not close or not abs(sign * result[rate][0] - rates[name]) <= 1e-9 * terms[name] + 1e-12 * abs(amounts[name]):
            found.append(f"{name}: {result[amount][0]}, {result[rate][0]}, not {amounts[name]}, {rates[name]}")
    return found


def _infix(text: str, values: Mapping[str, float]) -> float:
    def piecewise(*parts: Any) -> Any:
        for value, condition in zip(parts[::2], parts[1::2], strict=False):
            if condition:
                return value
        return parts[-1] if len(parts) % 2 else 0.0

    words: dict[str, Any] = {"ln": math.log, "abs": abs, "min": min, "max": max, "piecewise": piecewise, "pi": math.pi}
    words |= {"arcsin": math.asin, "arccos": math.acos, "arctan": math.atan, "exponentiale": math.e, "sqr": lambda a: a * a}
    words |= {name: getattr(math, name) for name in ("exp", "sin", "cos", "tan", "tanh", "floor", "sqrt", "asin", "acos", "atan")}
    words |= {"log10": math.log10, "root": lambda n, a: a ** (1.0 / n), "log": lambda b, a: math.log(a) / math.log(b)}
    return float(eval(text.replace("^", "**"), {"__builtins__": {}}, words | dict(values)))  # noqa: S307


def of_fmpy(text: str, description: Description) -> list[str]:
    import fmpy

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "modelDescription.xml").write_bytes(text.encode("utf-8"))
        read = fmpy.read_model_description(folder, validate=False)
    kinds = {"Real", "Integer", "Float64", "Float32", "Boolean", "Enumeration", "Int32"}
    found = [] if (read.guid or "") == description.token else ["the token"]
    for variable in read.modelVariables:
        if variable.type not in kinds or not 0 <= variable.valueReference < 2**32:
            continue
        one = description.variables.get(variable.name)
        if one is None and description.version == 2:  # FMPy gives an unknown type the type of the preceding variable
            continue
        same = one is not None and (one.reference, one.causality) == (variable.valueReference, variable.causality or "local")
        if not same:
            found.append(f"{variable.name}: {one}")
    return found


def _saved(graph: Graph) -> list[str]:
    try:
        return differences(graph.freeze())
    except ScrewbondError as error:
        return [] if error.problems[0].code == "E350" else [str(error)]


def _lenient(compare: Callable[[str, Any], list[str]], text: str, read: Any) -> list[str]:
    try:
        return compare(text, read)
    except (ScrewbondError, ArithmeticError, MemoryError):
        raise
    except Exception:
        return []


def reading_differences(form: str, text: str, read: Any) -> list[str]:
    if form == "fmu":
        return _lenient(of_fmpy, text, read)
    graph = read.graph if form == "sbml" else read
    compile_model(graph, backend="numpy", progress=False)
    if form == "short":
        return of_script(text, graph) + _saved(graph)
    return (_lenient(of_libsbml, text, read) if form == "sbml" else []) + _saved(graph)


def mutant(text: str, words: str, rng: random.Random) -> str:
    """Mutate a file one to three times: truncate it, insert a word, delete letters, swap lines or words, or replace a number."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        kind = rng.choices(("end", "word", "gap", "lines", "tokens", "number"), (1, 4, 3, 2, 3, 5))[0]
        places = list(re.finditer(r"(?<![\w.])\d+\.?\d*", text))
        if kind == "end":
            text = text[:at]
        elif kind == "word":
            text = text[:at] + rng.choice(["\n", " ", "\t", "\x00", *words.split()]) + text[at:]
        elif kind == "gap":
            text = text[:at] + text[at + rng.randint(1, 12) :]
        elif kind == "number" and places:
            one = rng.choice(places)
            new = rng.choice(
                (f"{rng.uniform(0.0, 10.0):.3g}", str(rng.randint(0, 9)), f"{10 ** rng.uniform(-6, 6):.2e}", "-1", "0")
            )
            text = text[: one.start()] + new + text[one.end() :]
        else:
            parts = text.split("\n") if kind == "lines" else re.split(r"(\W)", text)
            a, b = rng.randrange(len(parts)), rng.randrange(len(parts))
            parts[a], parts[b] = parts[b], parts[a]
            text = ("\n" if kind == "lines" else "").join(parts)
    return text


def outcome(form: str, text: str) -> tuple[str, str]:
    """Return ("the same" | a code | "wrong", details) for a file."""
    try:
        with warnings.catch_warnings(), limited():
            warnings.simplefilter("error")
            read = READ[form](text)
            warnings.simplefilter("ignore")
            if different := reading_differences(form, text, read):
                return "wrong", f"not the same: {', '.join(different[:8])}"
    except ScrewbondError as error:
        codes = re.findall(r"^\s*([EG]\d{3}) ", str(error), flags=re.MULTILINE)
        return (codes[0], "") if codes else ("wrong", f"no code: {error}")
    except TimeoutError:
        return "wrong", "it hangs\n" + traceback.format_exc(limit=-6)
    except BaseException:
        return "wrong", traceback.format_exc(limit=-6)
    return "the same", ""


def mutant_of(form: str, seed: int, number: int) -> str:
    texts = TEXTS[form]()
    return mutant(texts[number % len(texts)], WORDS[form], random.Random(f"{form} {seed} {number}"))


def trial(job: tuple[str, int, int]) -> tuple[tuple[str, int, int], str, str]:
    return job, *outcome(job[0], mutant_of(*job))


def campaign(
    form: str, count: int, seed: int, *, processes: int = 0, progress: bool = False
) -> tuple[Counter[str], list[tuple[int, str]]]:
    outcomes, wrong, watched = Counter[str](), [], Progress(count, f"{form} files", shown=progress)
    for job, kind, what in each(trial, [(form, seed, number) for number in range(count)], processes):
        outcomes[kind] += 1
        if kind == "wrong":
            wrong.append((job[2], what))
        watched.add(f"{job}: {what}" if kind == "wrong" else "")
    return outcomes, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="files of each format (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default %(default)d)")
    parser.add_argument("--form", choices=list(READ), help="only one format")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="default %(default)d")
    given, _ = parser.parse_known_args()
    failed = 0
    for form in READ if given.form is None else (given.form,):
        outcomes, wrong = campaign(form, given.count, given.seed, processes=given.processes, progress=True)
        print(form, *(f"{number:7d}  {kind}" for kind, number in outcomes.most_common()), sep="\n")
        failed += len(wrong)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
