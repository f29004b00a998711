"""The studies as tasks of Inspect AI: what `inspect eval overton/open_mindedness` finds."""

from overton.hosts.inspect.versions import check_inspect

check_inspect()  # before what an older Inspect AI lacks is imported

from overton.tasks.deliberation import deliberation  # noqa: E402
from overton.tasks.models import overton  # noqa: E402
from overton.tasks.open_mindedness import open_mindedness  # noqa: E402
from overton.tasks.pluralism import pluralism  # noqa: E402
from overton.tasks.stance_stability import stance_stability  # noqa: E402

__all__ = ["deliberation", "open_mindedness", "overton", "pluralism", "stance_stability"]
