"""Figure of a document: the bond graph with its nested graphs folded, each box and element with its number."""

from __future__ import annotations

from xml.etree import ElementTree

from bondgraph.compile.compiled import Compiled
from bondgraph.export.paper.markup.content import Block, Code, Figure, Paragraph
from bondgraph.export.paper.notation.parts import Parts
from bondgraph.render.diagram import diagram
from bondgraph.render.sketch import text_width

FOLD_ABOVE = 16
"""Number of elements above which nested graphs are folded."""
MAX_BOXES = 80
"""Number of boxes and elements above which there is no figure."""
_SVG = "http://www.w3.org/2000/svg"


def figure(compiled: Compiled, parts: Parts) -> list[Block]:
    """Return the figure; the numbers are those of the sections."""
    model = compiled.model
    folded = len(model.elements) > FOLD_ABOVE and bool(model.groups)
    if (len(parts.root.parts) if folded else len(model.elements)) > MAX_BOXES:
        words = (
            f"The bond graph, of {len(model.elements)} elements, is too large for a page; ",
            Code("diagram(model)"),
            " draws it.",
        )
        return [Paragraph(words)]
    drawing = diagram(compiled, folded="all" if folded else ())
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(drawing.svg)
    for group in root.iter(f"{{{_SVG}}}g"):
        part = parts.by_path.get(group.get("data-name", ""))
        drawn = [text for text in group.iter(f"{{{_SVG}}}text") if text.text]
        if part is not None and drawn:
            name = part.path.rpartition(".")[2]
            caption_text = next((text for text in drawn if text.text == name), drawn[-1])
            label = f"{part.number} {caption_text.text}"
            narrower = max(len(caption_text.text or ""), 4) / max(len(label), 4)
            size = float(caption_text.get("font-size", "13"))
            if caption_text.get("text-anchor") == "start":  # kind, colon and name stay in the middle
                more = text_width(label, size * max(narrower, 0.7)) - text_width(caption_text.text or "", size)
                for text in drawn:
                    text.set("x", f"{float(text.get('x', '0')) - more / 2:.1f}")
            caption_text.set("font-size", f"{size * max(narrower, 0.7):.1f}")
            caption_text.text = label
    for child in list(root):
        if child.get("class") == "title":
            root.remove(child)
    folding = ", nested graphs folded" if folded else ""
    caption = (f"The bond graph{folding}; numbers are those of the sections.",)
    return [Figure(ElementTree.tostring(root, encoding="unicode"), caption, drawing.width, drawing.height)]
