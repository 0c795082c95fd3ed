"""Three fingers roll a ball between them: impedance control by a virtual object (Visser 2002, section 5, figures 6 and 7).

   finger i --- tip --- contact i --- ball           the contact of figure 3, unchanged: rolling
                 |
            grip spring i --- virtual object --- spring --- reference
                                   |
                                damping

The controller is made of bond-graph elements: springs, a damper and an inertia that exists only in its program. Its energy
comes from the reference alone, so the hand is passive whatever it touches. The ball follows the virtual object, which
follows the reference, until the fingers are stretched.
"""

from __future__ import annotations

from screwbond.models.hand import Hand, HandParameters, HandRun, HandScenario, ReferenceStep, run_hand

UP_AND_ASIDE = (
    ReferenceStep(0.5, 2.5, shift=(0.012, 0.0, 0.0)),  # m: to the side
    ReferenceStep(2.5, 7.5, shift=(0.0, 0.0, 0.06)),  # up, farther than the fingers reach
)


def hand(friction: float | None = None) -> Hand:
    """Return the hand; `hand().graph()` is the whole system as one bond graph."""
    return Hand(HandParameters(fingers=3, friction=friction), UP_AND_ASIDE)


def simulate(friction: float | None = None) -> HandRun:
    """Simulate nine seconds; with a coefficient of friction of 0.2 a tip slips, and the ball is lost."""
    model = hand(friction)
    return run_hand(HandScenario("hand", 9.0, model.steps, model.parameters, description="to the side and up"), progress=False)


if __name__ == "__main__":
    from screwbond.models.hand import save_hand
    from screwbond.models.studies.tasks import script_parser

    parser = script_parser(__doc__, "demo")
    parser.add_argument("--friction", type=float, help="coefficient of friction; if omitted, nothing slips")
    options = parser.parse_args()
    print(save_hand(simulate(options.friction), options.out))
