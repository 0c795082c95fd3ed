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
_HUB = "M.5 .35 Q.65 .35 .65 .5 Q.65 .65 .5 .65 Q.35 .65 .35 .5 Q.35 .35 .5 .35"
_ROLLER = "M.5 .1 Q.8 .1 .8 .4 Q.8 .7 .5 .7 Q.2 .7 .2 .4 Q.2 .1 .5 .1 M0 .75 L1 .75"
_WHEEL = "M0 .5 L.38 .5 M.38 .1 L.38 .9"
_SPRING = "M0 .5 L.2 .5 L.27 .3 L.4 .7 L.53 .3 L.66 .7 L.73 .5 L1 .5"
_GROUND = "M0 .8 L1 .8 M.1 .8 L0 .95 M.4 .8 L.3 .95 M.7 .8 L.6 .95 M1 .8 L.9 .95"
_ORIFICE = "M0 .5 L1 .5 M.3 .2 Q.5 .45 .7 .2 M.3 .8 Q.5 .55 .7 .8"
_VALVE = "M.25 .3 L.75 .3 L.75 .8 L.25 .8 Z M0 .65 L.25 .65 M.75 .65 L1 .65 M.25 .55 L.75 .55 M.65 .5 L.75 .55 L.65 .6"
_THREE_LEADS = " M0 .3 L.15 .3 M0 .5 L.1 .5 M0 .7 L.15 .7"

_BRIDGE = "M0 0 L1 0 M0 1 L1 1 M.3 0 L.3 .25 M.22 .45 L.3 .25 M.3 .45 L.3 .55 M.22 .75 L.3 .55 M.3 .75 L.3 1"
_AMPLIFIER = "M.15 .1 L.15 .9 L.85 .5 Z M0 .3 L.15 .3 M0 .7 L.15 .7 M.85 .5 L1 .5 M.2 .3 L.3 .3 M.25 .25 L.25 .35 M.2 .7 L.3 .7"

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
    "lossless_line": "M0 .1 L1 .1 M0 .9 L1 .9 M.1 .3 L.9 .3 L.9 .7 L.1 .7 Z M.3 .5 L.7 .5 M.6 .42 L.7 .5 L.6 .58",
    "transformer": _WINDINGS + " M.47 .1 L.47 .9 M.53 .1 L.53 .9",
    "ideal_diode": _DIODE + " M.5 .15 L.5 .05",
    "thyristor": _DIODE + " M.7 .5 L.9 .85",
    "gto": _DIODE + " M.7 .5 L.9 .85 M.72 .75 L.85 .65",
    "triac": _LEADS + "M.3 .15 L.3 .85 M.7 .15 L.7 .85 M.3 .15 L.7 .32 L.3 .5 M.7 .5 L.3 .68 L.7 .85",
    "switch": _LEADS + "M.3 .5 L.68 .25",
    "arc_switch": _LEADS + "M.3 .5 L.68 .25 M.55 .5 L.6 .4 L.62 .5 L.68 .38",
    "fuse": _BOX + " M.3 .5 L.7 .5",
    "saturating_inductor": "M0 .5 Q.1 .2 .25 .5 Q.35 .2 .5 .5 Q.65 .2 .75 .5 Q.9 .2 1 .5 M.15 .9 L.4 .8 L.6 .2 L.85 .1",
    "bjt": _CIRCLE + " M0 .5 L.35 .5 M.35 .25 L.35 .75 M.35 .4 L.7 .2 L.7 0 M.35 .6 L.7 .8 L.7 1 M.55 .8 L.7 .8 L.62 .66",
    "mosfet": _CIRCLE
    + " M0 .5 L.3 .5 M.3 .3 L.3 .7 M.38 .25 L.38 .75 M.38 .3 L.7 .3 L.7 0 M.38 .7 L.7 .7 L.7 1 M.38 .5 L.6 .5 L.52 .44",
    "line_of_sections": "M0 .5 L.1 .5 M.1 .42 L.4 .42 L.4 .58 L.1 .58 Z M.4 .5 L.5 .5 M.6 .42 L.9 .42 L.9 .58 L.6 .58 Z "
    "M.9 .5 L1 .5 M.5 .5 L.6 .5 M.5 .5 L.5 .7 M.4 .7 L.6 .7 M.4 .76 L.6 .76 M.5 .76 L.5 .95",
    "two_way_switch": "M0 .5 L.3 .5 L.68 .3 M.7 .3 L1 .3 M.7 .7 L1 .7",
    "half_bridge": _BRIDGE + " M.3 .5 L1 .5",
    "h_bridge": _BRIDGE
    + " M.7 .0 L.7 .25 M.62 .45 L.7 .25 M.7 .45 L.7 .55 M.62 .75 L.7 .55 M.7 .75 L.7 1 M.3 .5 L.45 .5 M.55 .5 L.7 .5",
    "three_phase_bridge": _BRIDGE + " M.3 .4 L1 .4 M.3 .5 L1 .5 M.3 .6 L1 .6",
    "op_amp": _AMPLIFIER,
    "nullor": "M0 .3 L.15 .3 M0 .7 L.15 .7 M.25 .3 Q.35 .3 .35 .5 Q.35 .7 .25 .7 Q.15 .7 .15 .5 Q.15 .3 .25 .3 M.65 .3 "
    "Q.75 .3 .75 .5 Q.75 .7 .65 .7 Q.55 .7 .55 .5 Q.55 .3 .65 .3 "
    "M.85 .3 Q.95 .3 .95 .5 Q.95 .7 .85 .7 Q.75 .7 .75 .5 Q.75 .3 .85 .3",
    "comparator": _AMPLIFIER + " M.35 .6 L.45 .6 L.45 .4 L.55 .4",
    "limited_op_amp": _AMPLIFIER + " M.3 .6 L.45 .6 L.45 .4 L.6 .4",
    "three_phase_source": _CIRCLE + " M.25 .5 Q.375 .2 .5 .5 Q.625 .8 .75 .5 M.9 .5 L1 .5 M.85 .3 L1 .3 M.85 .7 L1 .7",
    "battery": "M0 .5 L.4 .5 M.4 .2 L.4 .8 M.6 .35 L.6 .65 M.6 .5 L1 .5",
    "supercapacitor": _PLATES + " M.3 .1 L.3 .2 M.25 .15 L.35 .15",
    "dc_motor": _MACHINE,
    "series_motor": _MACHINE + " M0 .5 L.1 .5 M0 .4 L.1 .4",
    "excited_motor": _MACHINE + " M0 .3 L.15 .3 M0 .7 L.15 .7",
    "synchronous_motor": _MACHINE + _THREE_LEADS,
    "induction_motor": _MACHINE + _THREE_LEADS + " M.5 .2 Q.8 .2 .8 .5 Q.8 .8 .5 .8 Q.2 .8 .2 .5 Q.2 .2 .5 .2",
    "stepper_motor": _MACHINE + " M0 .5 L.1 .5 M.5 .9 L.5 1",
    # motion
    "gear": _WHEEL + " M.62 .25 L.62 .75 M.62 .5 L1 .5 M.5 .05 L.74 .05",
    "lossy_gear": _WHEEL + " M.62 .25 L.62 .75 M.62 .5 L1 .5 M.5 .05 L.74 .05" + " M.2 .9 Q.3 .75 .4 .9 Q.5 1 .6 .85",
    "worm_gear": "M0 .25 L1 .25 M.3 .1 L.4 .4 M.45 .1 L.55 .4 M.6 .1 L.7 .4 M.5 .4 Q.75 .4 .75 .67 "
    "Q.75 .95 .5 .95 Q.25 .95 .25 .67 Q.25 .4 .5 .4",
    "belt": "M0 .2 L.6 .2 Q.9 .2 .9 .5 Q.9 .8 .6 .8 L0 .8 M.6 .3 Q.8 .3 .8 .5 Q.8 .7 .6 .7 Q.4 .7 .4 .5 Q.4 .3 .6 .3",
    "torque_converter": "M0 .5 L.3 .5 M.3 .15 L.3 .85 M.3 .15 Q.5 .15 .45 .4 M.3 .85 Q.5 .85 .45 .6 M.7 .15 L.7 .85 M.7 .15 "
    "Q.5 .15 .55 .4 M.7 .85 Q.5 .85 .55 .6 M.7 .5 L1 .5",
    "engine_map": "M.15 .1 L.15 .85 L.9 .85 M.2 .7 Q.4 .2 .85 .5 M.2 .8 Q.4 .5 .85 .7 M.35 .35 L.55 .25",
    "planetary_gear": f"{_CIRCLE} {_HUB} M.5 .1 L.5 .35 M.5 .65 L.5 .9",
    "rack_and_pinion": _ROLLER + " M.1 .75 L.1 .85 M.3 .75 L.3 .85 M.5 .75 L.5 .85 M.7 .75 L.7 .85 M.9 .75 L.9 .85",
    "lead_screw": "M0 .5 L1 .5 M.2 .35 L.3 .65 M.35 .35 L.45 .65 M.5 .35 L.6 .65 M.65 .35 L.75 .65",
    "clutch": "M0 .5 L.42 .5 M.42 .15 L.42 .85 M.58 .15 L.58 .85 M.58 .5 L1 .5",
    "torque_limiter": "M0 .5 L.35 .5 M.35 .15 L.35 .85 M.35 .4 L.45 .5 L.35 .6 M.65 .15 L.65 .85 M.65 .4 L.55 .5 L.65 .6 "
    "M.65 .5 L1 .5",
    "one_way_clutch": _CIRCLE + " M.35 .3 L.35 .7 L.65 .5 Z M.65 .3 L.65 .7",
    "stribeck_friction": _GROUND + " M.1 .55 Q.2 .2 .35 .4 Q.6 .7 .9 .3",
    "bearing_friction": _CIRCLE + " " + _HUB + " M.5 .1 L.5 .35 M.9 .5 L.65 .5 M.5 .9 L.5 .65 M.1 .5 L.35 .5",
    "lugre_friction": _GROUND + " M.2 .7 L.3 .4 M.4 .7 L.5 .4 M.6 .7 L.7 .4 M.1 .35 L.9 .35",
    "drag": "M.2 .5 Q.3 .25 .5 .25 Q.8 .25 .9 .5 Q.8 .75 .5 .75 Q.3 .75 .2 .5 M0 .2 Q.2 .1 .4 .1 M0 .8 Q.2 .9 .4 .9",
    "rolling_resistance": _ROLLER,
    "eddy_current_brake": _CIRCLE + " M.5 .35 Q.65 .35 .65 .5 Q.65 .6 .5 .6 Q.4 .6 .4 .5",
    "hardening_spring": _SPRING + " M.2 .9 L.8 .1",
    "gas_spring": "M0 .5 L.2 .5 M.2 .3 L.2 .7 L.8 .7 L.8 .3 L.2 .3 M.6 .3 L.6 .7 M.6 .5 L1 .5",
    "strut": "M0 .5 L.1 .5 M.1 .3 L.1 .7 M.9 .3 L.9 .7 M.9 .5 L1 .5 M.1 .3 L.3 .3 L.37 .2 L.5 .4 L.63 .2 L.7 .3 L.9 .3 "
    "M.1 .7 L.45 .7 M.45 .6 L.45 .8 M.35 .55 L.6 .55 M.35 .85 L.6 .85 M.6 .55 L.6 .85 M.6 .7 L.9 .7",
    "stop": "M0 .5 L.4 .5 M.4 .35 L.4 .65 M.6 .35 L.6 .65 M.6 .5 L1 .5 M.2 .2 L.2 .35 M.8 .2 L.8 .35 M.2 .2 L.8 .2",
    "elasto_gap": "M0 .5 L.42 .5 M.42 .3 L.42 .7 M.55 .3 L.55 .7 M.55 .5 L.62 .5 L.67 .35 L.75 .65 L.83 .35 L.88 .5 L1 .5",
    "backlash": "M0 .5 L.3 .5 M.3 .2 L.3 .8 M.3 .2 L.6 .2 M.3 .8 L.6 .8 M.45 .35 L.45 .65 M.45 .5 L1 .5",
    "tyre": _CIRCLE + " M.5 .3 Q.7 .3 .7 .5 Q.7 .7 .5 .7 Q.3 .7 .3 .5 Q.3 .3 .5 .3 M0 .95 L1 .95",
    "tyre_sideways": "M.3 .1 L.7 .1 L.7 .9 L.3 .9 Z M.7 .5 L1 .5 M.9 .4 L1 .5 L.9 .6",
    "relaxing_tyre": _CIRCLE
    + " M.5 .3 Q.7 .3 .7 .5 Q.7 .7 .5 .7 Q.3 .7 .3 .5 Q.3 .3 .5 .3 M0 .95 L.2 .9 L.3 1 L.4 .9 L.5 1 L.6 .9 L1 .95",
    "slider_crank": "M.2 .5 L.35 .2 L.8 .5 M.7 .4 L.9 .4 L.9 .6 L.7 .6 Z M.15 .5 L.25 .5 M.5 .65 L1 .65",
    "cam": "M.4 .45 Q.7 .45 .7 .7 Q.7 .95 .4 .95 Q.2 .95 .2 .7 Q.2 .45 .4 .45 M.45 .45 L.45 .1 M.35 .1 L.55 .1",
    # hydraulic
    "orifice": _ORIFICE,
    "check_valve": "M0 .5 L.3 .5 M.6 .5 L1 .5 M.3 .2 L.55 .5 L.3 .8 M.3 .5 Q.3 .4 .4 .4 Q.5 .4 .5 .5 Q.5 .6 .4 .6 Q.3 .6 .3 .5",
    "relief_valve": _VALVE + " M.5 .3 L.57 .24 L.43 .18 L.57 .12 L.43 .06 L.5 0",
    "reducing_valve": _VALVE + " M.85 .5 L.85 .1 L.5 .1 L.5 .3",
    "spool_valve": "M.2 .2 L.8 .2 L.8 .8 L.2 .8 Z M.35 1 L.35 0 M.3 .3 L.35 .2 L.4 .3 M.65 0 L.65 1 M.6 .7 L.65 .8 L.7 .7",
    "laminar_pipe": "M0 .35 L1 .35 M0 .65 L1 .65 M.2 .5 L.8 .5 M.7 .45 L.8 .5 L.7 .55",
    "pipe": "M0 .35 L1 .35 M0 .65 L1 .65 M.1 .5 Q.2 .4 .3 .5 Q.4 .6 .5 .5 Q.6 .4 .7 .5 Q.8 .6 .9 .5",
    "line": "M0 .35 L1 .35 M0 .65 L1 .65 M.25 .35 L.25 .65 M.75 .35 L.75 .65 M.25 .65 L.75 .35",
    "tank": "M.15 .1 L.15 .8 L.85 .8 L.85 .1 M.15 .35 L.85 .35 M.5 .8 L.5 1",
    "chamber": "M.2 .2 L.8 .2 L.8 .8 L.2 .8 Z M0 .5 L.2 .5",
    "accumulator": "M.5 1 L.5 .85 M.25 .4 Q.25 .1 .5 .1 Q.75 .1 .75 .4 L.75 .6 Q.75 .85 .5 .85 Q.25 .85 .25 .6 Z M.25 .5 L.75 .5",
    "cylinder": "M.1 .3 L.7 .3 L.7 .7 L.1 .7 Z M.35 .3 L.35 .7 M.35 .5 L1 .5 M.2 .7 L.2 .9 M.6 .7 L.6 .9",
    "pump": _CIRCLE + " M.35 .3 L.5 .1 L.65 .3 Z M.9 .5 L1 .5 M.5 .9 L.5 1 M.5 0 L.5 .1",
    "hydraulic_motor": _CIRCLE + " M.35 .1 L.5 .3 L.65 .1 Z M.9 .5 L1 .5 M.5 .9 L.5 1 M.5 0 L.5 .1 M.8 .25 L.95 .25",
    "pump_by_curve": _CIRCLE + " M.25 .35 Q.7 .35 .75 .75 M.5 .1 L.9 .5 M0 .5 L.1 .5 M.9 .5 L1 .5",
    "gas_chamber": "M.2 .2 L.8 .2 L.8 .8 L.2 .8 Z M0 .5 L.2 .5 M.35 .4 L.37 .4 M.6 .35 L.62 .35 M.45 .65 L.47 .65 M.68 .6 L.7 .6",
    "choked_orifice": _ORIFICE + " M.72 .35 L.72 .65",
    "overflowing_tank": "M.15 .2 L.15 .8 L.75 .8 L.75 .2 M.15 .25 L.75 .25 Q.9 .25 .9 .6 M.45 .8 L.45 1",
    # thermal
    "heat_capacity": "M.25 .25 L.75 .25 L.75 .85 L.25 .85 Z M.5 .7 L.5 .4 M.42 .5 L.5 .4 L.58 .5 M0 .5 L.25 .5",
    "conductance": _BOX + " M.35 .5 L.65 .5 M.58 .44 L.65 .5 L.58 .56",
    "convection": "M.2 .1 L.2 .9 M.3 .35 Q.45 .25 .6 .35 Q.75 .45 .9 .35 M.3 .65 Q.45 .55 .6 .65 Q.75 .75 .9 .65",
    "radiation": "M.2 .1 L.2 .9 M.8 .1 L.8 .9 M.3 .4 L.36 .3 L.44 .5 L.52 .3 L.6 .5 L.66 .4 L.72 .4 M.66 .34 L.72 .4 L.66 .46",
    "peltier": "M.1 .15 L.9 .15 M.1 .85 L.9 .85 M.25 .25 L.45 .25 L.45 .75 L.25 .75 Z M.55 .25 L.75 .25 L.75 .75 L.55 .75 Z",
    "exchanger": _CIRCLE + " M0 .35 L.35 .35 L.5 .6 L.65 .35 L1 .35 M0 .7 L1 .7",
    "phase_change": "M.1 .9 L.3 .6 L.65 .6 L.9 .2 M.1 .1 L.1 .9 L.95 .9",
    # magnetic
    "leakage": _LEADS + "M.3 .5 Q.4 .2 .5 .5 Q.6 .2 .7 .5 M.3 .5 Q.4 .8 .5 .5 Q.6 .8 .7 .5",
    "hysteretic_core": _LEADS
    + "M.3 .3 L.7 .3 L.7 .7 L.3 .7 Z M.35 .65 Q.5 .6 .5 .45 Q.5 .35 .65 .35 Q.55 .4 .55 .55 Q.5 .65 .35 .65",
    "reluctance": _LEADS + "M.3 .38 L.7 .38 L.7 .62 L.3 .62 Z",
    "saturating_core": _LEADS + "M.3 .38 L.7 .38 L.7 .62 L.3 .62 Z M.2 .9 L.4 .75 L.45 .2 L.75 .12",
    "air_gap": "M0 .3 L.4 .3 L.4 .7 L0 .7 M1 .3 L.6 .3 L.6 .7 L1 .7 M.42 .5 L.58 .5",
    "coil": "M0 .1 L.35 .1 M0 .9 L.35 .9 " + _LEFT + " M.55 .1 L.55 .9",
    "magnet": "M.1 .35 L.9 .35 L.9 .65 L.1 .65 Z M.5 .35 L.5 .65 M.2 .58 L.2 .42 L.3 .58 L.3 .42",
    "eddy_loss": _LEADS + "M.5 .3 Q.7 .3 .7 .5 Q.7 .7 .5 .7 Q.3 .7 .3 .5 Q.3 .3 .5 .3 M.5 .42 Q.58 .42 .58 .5 Q.58 .58 .5 .58",
    # chemical
    "chemostat": "M.15 .3 L.15 .9 L.85 .9 L.85 .3 M.15 .45 L.85 .45 M.5 0 L.5 .3 M.44 .2 L.5 .3 L.56 .2 M.3 .65 L.7 .65",
    "network": "M.1 .2 L.4 .5 M.1 .8 L.4 .5 M.4 .42 L.9 .42 M.8 .34 L.9 .42 M.9 .58 L.4 .58 M.5 .66 L.4 .58",
    "diffusion": "M.5 .1 L.5 .9 M.1 .3 L.1 .7 M.2 .3 L.2 .7 M.3 .3 L.3 .7 M.35 .5 L.9 .5 M.8 .42 L.9 .5 L.8 .58",
    "michaelis_menten": _LEADS + "M.3 .35 L.7 .35 L.7 .65 L.3 .65 Z M.35 .62 Q.4 .4 .65 .4",
    "hill": _LEADS + "M.3 .35 L.7 .35 L.7 .65 L.3 .65 Z M.34 .6 Q.5 .6 .5 .5 Q.5 .4 .66 .4",
    "membrane": "M0 .5 L1 .5 M.4 .05 L.4 .4 M.6 .05 L.6 .4 M.4 .6 L.4 .95 M.6 .6 L.6 .95 M.85 .42 L.95 .5 L.85 .58",
    "ion_channel": "M.5 0 L.5 1 M.35 .1 L.35 .4 L.65 .4 L.65 .1 M.35 .9 L.35 .6 L.65 .6 L.65 .9 M.2 .5 L.4 .3",
    "electrode": "M0 .5 L.4 .5 M.4 .15 L.4 .85 L.5 .85 L.5 .15 Z M.55 .5 L1 .5 M.8 .2 L.9 .2 M.85 .15 L.85 .25",
}
