"""The demonstration: a small model on four starter issues, in minutes."""

from overton.studies.study import Demo

__all__ = ["DEMO"]

DEMO = Demo(
    # Their arguments are short: a small embedded model reads them quickly.
    items=("congestion-charge", "crewed-spaceflight", "museum-returns", "primary-school-grades"),
    # A mirrored pair of templates whose letters mirror too, so that averaging the two cancels both pulls exactly.
    options={"trials": 1, "templates": (2, 5)},
    said="four issues, eleven configurations, one mirrored pair of templates, one trial: 88 calls",
    whole="twelve issues, eleven configurations, six templates, 15 trials: 11,880 calls",
    left_out=(
        "eight of the twelve starter issues, templates 1, 3, 4 and 6, and 14 of 15 trials;"
        " 'overton demo --full' leaves out nothing"
    ),
)
