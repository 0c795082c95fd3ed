"""Explanations around the equations: the kind of model, the notation, and the solution method."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.compile.compiled import Compiled
from bondgraph.export.paper.markup.content import Block, Math, Paragraph, Piece, Section, Words, join_words, split_formulas
from bondgraph.export.paper.notation.parts import Branch
from bondgraph.model.laws import Junction
from screws.errors import plural

LITERATURE = {
    "VI02": "M. Visser, S. Stramigioli and C. Heemskerk (2002), Screw bondgraph contact dynamics",
    "BO18": "S. A. Bortoff (2018), Object-oriented modeling and control of delta robots",
    "BO20": "S. A. Bortoff (2020), Modeling contact and collisions for robotic assembly control",
    "WA22": "Y. Wang, N. Dehio and A. Kheddar (2022), On inverse inertia matrix and contact-force model for robotic manipulators"
    " at normal impacts",
    "Brockett 1984": "R. W. Brockett (1984), Robotic manipulators and the product of exponentials formula",
    "Fasse and Broenink 1997": "E. D. Fasse and J. F. Broenink (1997), A spatial impedance controller for robotic manipulation",
    "Featherstone 2008": "R. Featherstone (2008), Rigid Body Dynamics Algorithms",
    "Murray, Li and Sastry 1994": "R. Murray, Z. Li and S. Sastry (1994), A Mathematical Introduction to Robotic Manipulation",
    "Stramigioli 2001": "S. Stramigioli (2001), Modeling and IPC Control of Interactive Mechanical Systems",
}


def summary(compiled: Compiled, equations: int, sought: Sequence[tuple[str, str]]) -> list[Block]:
    system, model = compiled.system, compiled.model
    size = sum(np.size(state.initial) for state in system.states if state.name not in system.guesses)
    counted = {
        "element": len(model.elements),
        "bond": len(model.bonds),
        "scalar state": size,
        "parameter": len(system.parameters),
        "numbered equation": equations,
    }
    counts = ", ".join(plural(count, noun) for noun, count in counted.items()) + "."
    kinds: list[Piece] = ["The states follow "]
    kinds += [
        Math(r"\dot x = f(t, x, p, \sigma)" if system.modes else r"\dot x = f(t, x, p)"),
        ": the equations below, evaluated in order of their dependence, give the rates in the table of states",
    ]
    if sought:
        kinds.append("; the unknowns are ")
        kinds += join_words(", ", ((Math(letter), f" ({number})") for letter, number in sought))
        kinds.append(", determined by the equations with these numbers")
    if system.modes:
        kinds += split_formulas(r"; the modes $\sigma$ of state machines change at events, where states may jump")
    if any(clock.period for clock in system.clocks):
        kinds.append("; sampled blocks set their states at the ticks of clocks and hold them between ticks")
    kinds.append(".")
    if system.conversions:
        kinds.append(" In the equations, parameters are in SI units: 20 mF in the table is 0.02 F.")
    return [Paragraph((counts,), "Model."), Paragraph(tuple(kinds))]


def conventions(system: System, has_functions: bool, alike: Sequence[Branch], blocks: Sequence[Block]) -> list[Block]:
    written = repr(blocks)
    latex = "".join(statement.op.latex for statement in system.statements)
    words: list[Piece] = [
        *split_formulas(
            "Each part has a number, which is the last index of its symbols: $e_n$ is the effort of part n, $f_n$ its flow, and "
            r"$e_{n\to k}$ the effort of the bond from part n to part k. Power is positive along half arrows. Vectors are "
            r"columns, $^{\top}$ transposes, and a matrix of one row times a vector is a number. Components are counted from 1"
        )
    ]
    if re.search(r"\}_[xyz](?![a-z])", written):
        words += split_formulas("; $v_x, v_y, v_z$ are the first three")
    if r"{diag}" in written:
        words += split_formulas(r"; $\operatorname{diag}(a)$ is the diagonal matrix of $a$")
    if r"(\\mathsf" in written or r"({\\mathsf" in written:
        words += split_formulas("; $(a, b) = c$ splits $c$ into halves, or a pose into its parts")
    if re.search(r"[&+] \\{2}mathbf\{1\}", written):
        words += split_formulas(r"; $\mathbf{1}$ is the identity matrix")
    if r"\\tilde" in written or r"\mathrm{Ad}" in latex:
        words += split_formulas(r"; $\tilde a\,b = a \times b$")
    words.append(".")
    if has_functions:
        words += split_formulas(
            r" Functions $\mathrm{name}_k$ are defined in Section Functions, under Dk; their arguments, results and shared "
            r"terms $\mathsf{s}_1, \mathsf{s}_2, \ldots$ are local, in sans-serif letters. A condition in brackets is 1 "
            r"if it is true, else 0; $\wedge$ is and, $\vee$ or, $\neg$ not; a mode stands for the number of its state; "
            r"$|\cdot|$ is the root of the sum of squares, also of a matrix."
        )
    for k, branch in enumerate(alike):
        names = ", ".join(part.path for part in branch.members)
        words += ["; " if k else " Parts of the same structure share equations, with a letter as index: ", Math(branch.index)]
        words += [f" = {', '.join(part.number for part in branch.members)} ({names})"]
    notation: list[Block] = [Section("Conventions", 2), Paragraph((*words, "." if alike else ""))]
    if r"\mathrm{Ad}" in latex:
        notation.append(Paragraph(_SCREWS))
    cited = [f"{short}: {long}" for short, long in LITERATURE.items() if any(short in s.op.source for s in system.statements)]
    if cited:
        text = f"{'. '.join(cited)}. Numbers refer to equations in these works; misprints are corrected."
        notation.append(Paragraph((text,), "Sources.", small=True))
    if any(event.resets or event.impulse for event in system.events):
        text = "At an event, $:=$ sets all these states simultaneously to values computed just before."
        notation.append(Paragraph(split_formulas(text)))
    return notation


_SCREWS: Words = split_formulas(
    r"Twists are $(\omega, v)$, wrenches $(\tau, f)$. A pose $H$ is a matrix "
    r"$\begin{bmatrix} R & p \\ 0 & 1 \end{bmatrix}$, or seven numbers (units 1, m): a quaternion (w, x, y, z), of which only "
    r"the direction counts, and $p$; $R = I + \tfrac{2}{w^2+x^2+y^2+z^2}\begin{bmatrix} -y^2-z^2 & xy-wz & xz+wy \\ xy+wz & "
    r"-x^2-z^2 & yz-wx \\ xz-wy & yz+wx & -x^2-y^2 \end{bmatrix}$. "
    r"$\mathrm{Ad}_H = \begin{bmatrix} R & 0 \\ \tilde p R & R \end{bmatrix}$; $H^{-1}$ is the inverse pose; a product of "
    r"poses is the product of their matrices; its quaternion is the product of their quaternions; for a point $b$, $H\,b$ is "
    r"$R\,b + p$."
)


def method(compiled: Compiled) -> list[Block]:
    system, model = compiled.system, compiled.model
    words: list[Piece] = []
    if any(event.impulse for event in system.events):
        words += split_formulas(
            "Impulsive efforts of constraints or closing switches change the momenta as finite efforts change the rates of"
            " the momenta; all other states keep their values. The impulses give the flows in the table their new values"
            " ($^-$ before, $^+$ after). "
        )
    if any(event.internal for event in system.events):
        words.append("Changes of coordinates do not affect the motion (for example, a change of chart near a pole). ")
    if any(isinstance(e.law, Junction) and e.law.automaton for e in model.elements.values()):
        words.append("An X-junction joins its bonds in the given states, and transmits nothing in other states. ")
    ends = list(dict.fromkeys(event.error for event in system.events if event.error))
    if ends:
        words.append(f"A run ends if: {'; '.join(ends)}. ")
    if system.indeterminate:
        words.append("If the equations do not determine how ideal elements share a load, the shares of least norm are used. ")
    words.append("The integration of the states has error control")
    words.append("; it stops at events, when a guard rises through zero." if system.events else ".")
    return [Section("Method", 2), Paragraph(tuple(words))]
