"""Ready-made parts by domain; each is a function that returns an element or a graph: `parts.electrical.diode("d1")`."""

from screwbond.models.parts import chemical, electrical, electronics, hydraulic, machines, magnetic, motion, thermal

__all__ = ["chemical", "electrical", "electronics", "hydraulic", "machines", "magnetic", "motion", "thermal"]
