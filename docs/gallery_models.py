"""Page of the gallery of public models, with deviations and times: `python -m docs.gallery_models` rewrites it."""

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

These published models are rebuilt with [parts](parts.md) in `examples/gallery`. The tests run each at default settings (`windows`
with `singular="keep"`) and compare it with published results. `python -m docs.gallery_models` writes this page.

| column | meaning |
|---|---|
| lines | lines of the function that builds the model; shared parts and templates are not counted |
| statements | components, equations and connections of the original; shared sub-circuits are not counted |
| deviation | largest deviation of all compared signals, relative to the signal's maximum (E5: to its current value) |
| cold, warm | processor time of compilation and the first run, and of a later run |

Deviations are mostly due to the tolerances of the published results. The amounts of E5 span fourteen decades. For E5,
glycolysis, phosphorylation, calcium pump and cardiac action potential, only equations or end values are published; the
reference is an independent SciPy script.
"""
TABLE = "\n## {}\n\n| model | source | lines | statements | deviation | cold | warm |\n|---|---|---|---|---|---|---|\n"
ABSENT = """
## Not included

| model | reason |
|---|---|
| ChuaCircuit, rotational HeatLosses, thermal Motor, BatteryDischargeCharge (Modelica) | no published result file |
| translational HeatLosses (Modelica) | three signals deviate by 0.07 to 1 % after a stop closes; cause unknown |
| HeatingNPN_NORGate, HeatingMOSInverter (Modelica) | transistors have no heat port yet |
| CauerLowPassSC, Rectifier12pulse, ArmatureStroke, solenoid, Engine1b, EngineV6 (Modelica) | not yet rebuilt |
| transistor amplifier, NAND gate, ring modulator, charge pump, adder (IVP) | not yet rebuilt; only end values published |
| wheelset, Fekete, water tube, car axis (IVP test set) | not yet rebuilt; only end values published |
| Bricard, flyball governor (IFToMM) | published values not available |
| ATPase, examples of 20-sim and of the books by Karnopp, Borutzky and Gawthrop | published values not available |
"""


def row_begin(entry: Entry) -> str:
    return f"| `{entry.name}` | {entry.source} | {entry.lines} | {entry.statements} | "


def row(entry: Entry) -> str:
    course, begin = published(REFERENCE / f"{entry.name}.csv"), time.process_time()
    compiled = compile_model(entry.make(), progress=False)
    result = run(compiled, entry, course)
    cold = time.process_time()
    run(compiled, entry, course)
    times = f"{cold - begin:.2f} s | {1e3 * (time.process_time() - cold):.1f} ms"
    return f"{row_begin(entry)}{max(deviations(result, entry, course).values()):.0e} | {times} |\n"


def page() -> str:
    ratios = sorted(entry.lines / entry.statements for entry in ENTRIES.values())
    ratio = f"{ratios[len(ratios) // 2]:.2f}"
    median = f"\n{len(ENTRIES)} models; the median ratio of our lines to the original's statements is {ratio}.\n"
    tables = (TABLE.format(each.title) + "".join(map(row, each.entries.values())) for each in COLLECTIONS)
    return HEAD + median + "".join(tables) + ABSENT


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
