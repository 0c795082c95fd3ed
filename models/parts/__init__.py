"""Ready-made parts by domain; each is a function that returns an element or a graph: `parts.electrical.diode("d1")`."""

from screwbond.models.parts import chemical, electrical, electronics, hydraulic, machines, magnetic, motion, thermal

from screws.names import explain_module

__all__ = ["chemical", "electrical", "electronics", "hydraulic", "machines", "magnetic", "motion", "thermal"]

for _name in (__name__, *(f"{__name__}.{each}" for each in __all__)):
    explain_module(_name)
