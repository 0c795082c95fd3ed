"""The words of a C header: what the functions of a model do and how a program calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bondgraph.assembly.system import Loop, System
from bondgraph.export.code.names import comment


def story(
    n: str, build: str, total: Mapping[str, str], system: System, resets: list[int], pushes: list[int], loops: list[Loop]
) -> list[str]:
    """Lines of the comment at the head: what there is, and how it is used."""
    lines = [
        f'{n}: the model "{comment(system.name)}", written by screwbond.',
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
    if system.events:
        lines += [
            "Events: transition k fires when guard k rises through zero; its guard is -1 while its mode is not active.",
            f"Then x becomes what {n}_reset gives, where it returns 1, and m[slot[k]] becomes target[k]:",
        ]
        for k, event in enumerate(system.events):
            end = f"; ends the run: {event.error}" if event.error else "; a change of description" * event.internal
            reset = ", with a reset" if k in resets else ""
            reset += " that others may answer" if k in pushes else ""
            lines.append(f"    {k}: {comment(event.kind + reset + end)}")
    if pushes:
        lines += [
            f"Where {n}_push returns 1, the reset is an impulse that another transition may answer: a diode closes rather than",
            f"let a switch cut off a current. It gives {total['transitions']} numbers, what the impulse adds to the guards,",
            f"then {total['states']}: x without the impulse. If the largest of the former, among the transitions that the new",
            "modes allow, is positive and x would jump, go on with the latter, and carry out that transition next.",
        ]
    if loops:
        lines += [
            "Algebraic loops: some states hold the unknowns of nonlinear loops and follow them by themselves. Before a",
            f"run and after events, {n}_loop_k gives the residuals, then a Newton step for those states:",
        ]
        lines += [f"    {k}: {', '.join(map(comment, loop.guesses))}" for k, loop in enumerate(loops)]
    return lines


def declarations(n: str, total: Mapping[str, str], system: System, pushes: Sequence[int], loops: Sequence[Loop]) -> str:
    """Prototypes and tables."""
    call = "(double t, const double *x, const double *p, const double *m, double *out);"
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
        lines += [f"/* {remark}, {total[length]} numbers. */", f"void {n}_{word}{call}"]
    for k in range(len(loops)):
        lines += ["/* out: residuals, then the Newton step. */", f"void {n}_loop_{k}{call}"]
    if system.events:
        lines += [
            "/* out: x after a transition; returns 1, or 0 where x stays as it is and `out` is left alone. */",
            f"int {n}_reset(int transition, {call[1:]}",
        ]
        if pushes:
            lines += [
                "/* out: what the impulse of a transition adds to the guards, then x without it; returns 1, or 0 without any. */",
                f"int {n}_push(int transition, {call[1:]}",
            ]
        lines += [*(f"extern const int {n}_transition_{word}[];" for word in ("slot", "source", "target"))]
    lines += [
        "",
        f"extern const int {n}_jacobian_columns[]; /* {total['states']} + 1 */",
        f"extern const int {n}_jacobian_rows[];    /* {total['nonzeros']} */",
        *(f"extern const double {n}_{letter}0[];" for letter in "xpm"),
        "",
    ]
    return "\n".join(lines)
