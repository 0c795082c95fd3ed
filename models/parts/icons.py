"""Icons of parts by name: path data of SVG in a box from (0, 0) to (1, 1), y downwards."""

_LEADS = "M0 .5 L.3 .5 M.7 .5 L1 .5 "
_DIODE = _LEADS + "M.3 .25 L.3 .75 L.7 .5 Z M.7 .25 L.7 .75"
_BOX = _LEADS + "M.3 .35 L.7 .35 L.7 .65 L.3 .65 Z"
_PLATES = "M0 .5 L.45 .5 M.45 .2 L.45 .8 M.55 .2 L.55 .8 M.55 .5 L1 .5"
_LEFT, _RIGHT = (
    "M.35 .1 Q.5 .2 .35 .3 Q.5 .4 .35 .5 Q.5 .6 .35 .7 Q.5 .8 .35 .9",
    "M.65 .1 Q.5 .2 .65 .3 Q.5 .4 .65 .5 Q.5 .6 .65 .7 Q.5 .8 .65 .9",
)
_WINDINGS = f"M0 .1 L.35 .1 M0 .9 L.35 .9 M.65 .1 L1 .1 M.65 .9 L1 .9 {_LEFT} {_RIGHT}"
_CIRCLE = "M.5 .1 Q.9 .1 .9 .5 Q.9 .9 .5 .9 Q.1 .9 .1 .5 Q.1 .1 .5 .1"
_MACHINE = _CIRCLE + " M.35 .65 L.35 .35 L.5 .55 L.65 .35 L.65 .65"
_THREE_LEADS = " M0 .3 L.15 .3 M0 .5 L.1 .5 M0 .7 L.15 .7"

ICONS = {
    # electrical
    "diode": _DIODE,
    "zener": _DIODE + " M.7 .25 L.6 .2 M.7 .75 L.8 .8",
    "varistor": _BOX + " M.25 .8 L.35 .8 L.7 .2",
    "arc": _BOX + " M.3 .5 Q.4 .2 .5 .5 Q.6 .8 .7 .5",
    "photovoltaic_cell": _DIODE + " M.3 .0 L.42 .2 M.5 .0 L.62 .2",
    "junction_capacitance": _PLATES + " M.3 .8 L.7 .2",
    "ideal_transformer": _WINDINGS,
    "coupled_coils": _WINDINGS + " M.45 .05 L.55 .05",
    "transformer": _WINDINGS + " M.47 .1 L.47 .9 M.53 .1 L.53 .9",
    "ideal_diode": _DIODE + " M.5 .15 L.5 .05",
    "thyristor": _DIODE + " M.7 .5 L.9 .85",
    "gto": _DIODE + " M.7 .5 L.9 .85 M.72 .75 L.85 .65",
    "triac": _LEADS + "M.3 .15 L.3 .85 M.7 .15 L.7 .85 M.3 .15 L.7 .32 L.3 .5 M.7 .5 L.3 .68 L.7 .85",
    "switch": _LEADS + "M.3 .5 L.68 .25",
    "fuse": _BOX + " M.3 .5 L.7 .5",
    "op_amp": "M.15 .1 L.15 .9 L.85 .5 Z M0 .3 L.15 .3 M0 .7 L.15 .7 M.85 .5 L1 .5 M.2 .3 L.3 .3 M.25 .25 L.25 .35 M.2 .7 L.3 .7",
    "three_phase_source": _CIRCLE + " M.25 .5 Q.375 .2 .5 .5 Q.625 .8 .75 .5 M.9 .5 L1 .5 M.85 .3 L1 .3 M.85 .7 L1 .7",
    "battery": "M0 .5 L.4 .5 M.4 .2 L.4 .8 M.6 .35 L.6 .65 M.6 .5 L1 .5",
    "supercapacitor": _PLATES + " M.3 .1 L.3 .2 M.25 .15 L.35 .15",
    "dc_motor": _MACHINE,
    "synchronous_motor": _MACHINE + _THREE_LEADS,
    "induction_motor": _MACHINE + _THREE_LEADS + " M.5 .2 Q.8 .2 .8 .5 Q.8 .8 .5 .8 Q.2 .8 .2 .5 Q.2 .2 .5 .2",
    "stepper_motor": _MACHINE + " M0 .5 L.1 .5 M.5 .9 L.5 1",
}

CURVES = {
    "diode": (-0.5, 0.6),
    "zener": (-5.2, 0.52),
    "varistor": (-105.0, 105.0),
    "arc": (-5.0, 5.0),
    "photovoltaic_cell": (-0.1, 0.66),
}
"""Ranges of the argument in which the page of parts shows a law."""
