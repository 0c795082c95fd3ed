"""What both typesetters of notebooks know: a formula in; what is wrong with it for KaTeX or MathJax out."""

from __future__ import annotations

import re

COMMANDS = """
    begin end int det Longrightarrow left right frac tfrac dot ddot bar hat quad qquad text textrm mathrm mathbf mathcal
    boldsymbol operatorname nabla cdot times sqrt sin cos tan arccos arctan exp log max min sum partial lambda gamma
    alpha beta omega Omega sigma tau mu rho phi varphi theta delta in to wedge vee neg geq leq ge le gg ll infty perp
    approx pm big Vert circ dots pi
"""
"""Commands. KaTeX 0.16.47 and MathJax 3.2.2 set each of them, and all formulas of notebooks and pages."""
ENVIRONMENTS = {"aligned", "gathered", "matrix", "bmatrix", "pmatrix", "cases", "array"}


def unknown(formula: str) -> list[str]:
    """Commands and environments that one of them may not know, braces that do not close, and underscores in words: KaTeX refuses
    bare ones, and MathJax prints the backslash of others."""
    commands = set(re.findall(r"\\([A-Za-z]+)", formula.replace(r"\\", ""))) - set(COMMANDS.split())
    environments = set(re.findall(r"\\begin\{(.*?)\}", formula)) - ENVIRONMENTS
    bare = re.sub(r"\\[{}]", "", formula)
    words = [inside for inside in re.findall(r"\\text\{(.*?)\}", formula) if "_" in inside]
    return [*commands, *environments, *words, *(["braces"] if bare.count("{") != bare.count("}") else [])]
