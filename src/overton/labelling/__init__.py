"""Pages on which people label what a judge labelled: one HTML file per person, which works offline. Knows no study."""

from overton.labelling.page import Unit, page_of

__all__ = ["Unit", "page_of"]
