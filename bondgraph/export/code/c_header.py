"""A C header: the content of a model in; constants for every place in the arrays, prototypes and how to use them, out."""

from __future__ import annotations

from bondgraph.export.code.content import Content
from bondgraph.export.code.names import Entry, count
from bondgraph.export.code.story import Voice, plain, story

KINDS = {"rates": "states", "jacobian": "", "outputs": "outputs", "guards": "guards", "powers": "powers", "energies": "energies"}
"""Function -> what the numbers that it gives are."""

_LETTERS = {"states": "X", "parameters": "P", "modes": "M", "outputs": "Y", "powers": "POWER", "energies": "ENERGY"}
"""Table -> what its constants begin with, after the name of the model."""

_TITLES = {
    "states": "states x, and their rates",
    "parameters": "parameters p that can be set",
    "modes": "modes m: the state of each automaton, as a whole number",
    "outputs": "outputs",
    "powers": "powers: integrated along a run they are the energy account",
    "energies": "energies of the storages",
}
_CALL = "(double t, const double *x, const double *p, const double *m, double *out);"


def constants(content: Content) -> dict[str, str]:
    """Name of a length -> its constant."""
    words = {word: word for word in (*_LETTERS, "transitions", "nonzeros", "clocks")} | {"prepared": "length_of_p"}
    return {word: f"{content.name}_{text}".upper() for word, text in words.items()}


def places(content: Content, array: str, table: str) -> list[str]:
    """The C expression of every number of an array: `x[OSC_X_MASS_P]`, `x[OSC_X_POSE + 3]`."""
    found = []
    for entry in content.tables[table]:
        first = _constant(content, table, entry) or str(entry.start)
        found += [f"{array}[{first}{f' + {k}' if k else ''}]" for k in range(entry.size)]
    return found


def header_of(content: Content, build: str) -> str:
    """Declarations, constants, and how to use it all."""
    guard, total = f"{content.name.upper()}_H", constants(content)
    parts = ["\n".join(["/*", *(f" * {line}".rstrip() for line in _story(content, build, total)), " */", ""])]
    parts += [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    parts += [_enumeration(content, table, total[table]) for table in _LETTERS]
    lengths = {"transitions": len(content.system.events), "nonzeros": len(content.pattern[1])}
    lengths |= {"clocks": len(content.ticks)} if content.ticks else {}
    whole = count(content.p) + content.prepared
    parts += [
        "/* further lengths */",
        "enum {",
        *(f"    {total[word]} = {length}," for word, length in lengths.items()),
        f"    {total['prepared']} = {whole} /* length of p: parameters, then what prepare adds */",
        "};",
        "",
        _declarations(content, total),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
        "",
    ]
    return "\n".join(parts)


def _constant(content: Content, table: str, entry: Entry) -> str:
    """The constant of a place, "" where there is none."""
    letter = _LETTERS.get(table)
    return f"{content.name}_{letter}_{entry.identifier}".upper() if entry.identifier and letter else ""


def _enumeration(content: Content, table: str, total: str) -> str:
    """An enum of the entries' constants, and of the whole length."""
    given = content.tables[table]
    lines = [f"/* {_TITLES[table]} */", "enum {"]
    named = [(constant, entry) for entry in given if (constant := _constant(content, table, entry))]
    lines += [f"    {constant} = {entry.start}, /* {plain(entry.comment)} */" for constant, entry in named]
    return "\n".join([*lines, f"    {total} = {count(given)}", "};", ""])


def _story(content: Content, build: str, total: dict[str, str]) -> list[str]:
    """Lines of the comment at the head: what there is, and how it is used."""
    n = content.name
    lines = [
        f'{n}: the model "{plain(content.system.name)}", written by screwbond.',
        "",
        f"Build: {build}",
        "",
        "Every function reads its inputs and writes `out`, which must lie apart from them. Nothing is kept",
        "between calls, so threads may share everything. Arrays:",
        "    t    time, s",
        f"    x    states, {total['states']} numbers",
        f"    p    parameters, {total['prepared']} numbers: the first {total['parameters']} are yours,",
        f"         then call {n}_prepare(p) once, which fills in what follows from them",
        f"    m    modes, {total['modes']} numbers",
        "",
        f"Start: copy {n}_x0, {n}_p0 and {n}_m0, change what you like, call {n}_prepare(p).",
        f"Jacobian: the nonzeros of d rates / d x by columns; those of column j are k = {n}_jacobian_columns[j] to",
        f"{n}_jacobian_columns[j + 1] - 1, in the rows {n}_jacobian_rows[k].",
    ]
    voice = Voice(
        first=0,
        mode="m[slot[k]] becomes target[k]",
        reset=f"what {n}_reset gives, where it returns 1",
        push=f"Where {n}_push returns 1,",
        parts=f"It gives {total['transitions']} numbers, what it adds to the guards, then {total['states']}: x without it.",
        times=f"p[{n}_clock_offset[k]] + i p[{n}_clock_period[k]], i = 0, 1, ... (one only where the period has the place -1)",
        tick=f"what {n}_tick gives",
        loop=f"{n}_loop_k",
    )
    return lines + story(content, voice)


def _declarations(content: Content, total: dict[str, str]) -> str:
    """Prototypes and tables."""
    n = content.name
    told = (
        ("rates", "out: dx/dt", "states"),
        ("jacobian", "out: nonzeros of d rates / d x", "nonzeros"),
        ("outputs", "out: all values, those named above and steps between them", "outputs"),
        ("guards", "out: one number for each transition", "transitions"),
        ("powers", "out: W", "powers"),
        ("energies", "out: J", "energies"),
    )
    lines = [
        f"/* Call after every change of parameters: p[{total['parameters']}] and what follows it. */",
        f"void {n}_prepare(double *p);",
        "",
    ]
    for word, remark, length in told:
        lines += [f"/* {remark}, {total[length]} numbers. */", f"void {n}_{word}{_CALL}"]
    for k in range(len(content.loops)):
        lines += ["/* out: residuals, then the Newton step. */", f"void {n}_loop_{k}{_CALL}"]
    if content.system.events:
        lines += [
            "/* out: x after a transition; returns 1, or 0 where x stays as it is and `out` is left alone. */",
            f"int {n}_reset(int transition, {_CALL[1:]}",
        ]
        if content.pushes:
            lines += [
                "/* out: what the impulse of a transition adds to the guards, then x without it; returns 1, or 0 without any. */",
                f"int {n}_push(int transition, {_CALL[1:]}",
            ]
        lines += [*(f"extern const int {n}_transition_{word}[];" for word in ("slot", "source", "target"))]
    if content.ticks:
        lines += [
            "/* out: x after a tick of a clock; returns 1, or 0 where there is no such clock. */",
            f"int {n}_tick(int clock, {_CALL[1:]}",
            "/* Where the times of a clock stand in p, s. */",
            *(f"extern const int {n}_clock_{word}[]; /* {total['clocks']} */" for word in ("offset", "period")),
        ]
    lines += [
        "",
        f"extern const int {n}_jacobian_columns[]; /* {total['states']} + 1 */",
        f"extern const int {n}_jacobian_rows[];    /* {total['nonzeros']} */",
        *(f"extern const double {n}_{letter}0[];" for letter in "xpm"),
        "",
    ]
    return "\n".join(lines)
