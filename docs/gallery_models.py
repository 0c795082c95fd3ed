"""Page of the gallery of public models, with deviations and times: `python -m docs.gallery_models` writes it again."""

from __future__ import annotations

import time
from pathlib import Path

from bondgraph import compile_model
from examples.gallery import COLLECTIONS, ENTRIES
from examples.gallery.compare import deviations, published, run
from examples.gallery.record import Entry

PAGE = Path(__file__).parent / "gallery_models.md"
REFERENCE = Path(__file__).parents[1] / "tests" / "gallery" / "reference"
HEAD = """# Gallery of public models

Models that others have published with their results, rebuilt with [parts](parts.md) in `examples/gallery`. The tests run each at
default settings (`windows` with `singular="keep"`) and compare it with the published results; `python -m docs.gallery_models`
writes this page.

* *Lines* are those of the function that makes the model, *statements* those of the original: components, equations, connections.
  What several models share (parts, templates, sub-circuits) is counted on neither side.
* The *deviation* is the largest one of all signals compared, as a part of the largest value of the signal; of E5, whose amounts
  fall by up to fourteen decades, as a part of the present value. The published results were computed with tolerances of their
  own, and most deviations are theirs. Where the equations or end values alone were published (E5, glycolysis, phosphorylation,
  calcium pump, cardiac action potential), an independent script has solved them with SciPy.
* *Cold* is the processor time of compiling and the first run, *warm* that of another run.
"""
TABLE = "\n## {}\n\n| model | source | lines | statements | deviation | cold | warm |\n|---|---|---|---|---|---|---|\n"
ABSENT = """
## Not here

| model | reason |
|---|---|
| ChuaCircuit, rotational HeatLosses, thermal Motor, BatteryDischargeCharge (Modelica) | no published result file |
| translational HeatLosses (Modelica) | after a stop closes, three signals are off by 0.07 to 1 %; the cause is not known |
| HeatingNPN_NORGate, HeatingMOSInverter (Modelica) | transistors have no heat port yet |
| CauerLowPassSC, Rectifier12pulse, ArmatureStroke, solenoid, Engine1b, EngineV6 (Modelica) | not yet rebuilt |
| transistor amplifier, NAND gate, ring modulator, charge pump, adder (IVP) | not yet rebuilt; only end values published |
| wheelset, Fekete, water tube, car axis (IVP test set) | not yet rebuilt; only end values published |
| Bricard, flyball governor (IFToMM) | no published values at hand |
| ATPase, examples of 20-sim and of the books by Karnopp, Borutzky and Gawthrop | no published numbers at hand |
"""


def row_begin(entry: Entry) -> str:
    """What a row says that does not depend on the machine."""
    return f"| `{entry.name}` | {entry.source} | {entry.lines} | {entry.statements} | "


def row(entry: Entry) -> str:
    """Row of a model that is compiled and run now."""
    course, begin = published(REFERENCE / f"{entry.name}.csv"), time.process_time()
    compiled = compile_model(entry.make(), progress=False)
    result = run(compiled, entry, course)
    cold = time.process_time()
    run(compiled, entry, course)
    times = f"{cold - begin:.2f} s | {1e3 * (time.process_time() - cold):.1f} ms"
    return f"{row_begin(entry)}{max(deviations(result, entry, course).values()):.0e} | {times} |\n"


def page() -> str:
    """Text of the page."""
    ratios = sorted(entry.lines / entry.statements for entry in ENTRIES.values())
    median = f"\n{len(ENTRIES)} models; the median of lines over statements is {ratios[len(ratios) // 2]:.2f}.\n"
    tables = (TABLE.format(each.title) + "".join(map(row, each.entries.values())) for each in COLLECTIONS)
    return HEAD + median + "".join(tables) + ABSENT


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
