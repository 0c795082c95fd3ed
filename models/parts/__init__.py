"""Ready parts by domain, each one call that returns an element or a graph: `parts.electrical.diode("d1")`."""

from screwbond.models.parts import chemical, electrical, electronics, hydraulic, machines, magnetic, motion, thermal

__all__ = ["chemical", "electrical", "electronics", "hydraulic", "machines", "magnetic", "motion", "thermal"]
