"""Say what pip-audit found, from its JSON: not being able to look a package up does not make it safe.

    python .ci/audit.py AUDIT.json

Exit codes: 0 every package was looked up and none has a known vulnerability, 1 some have, 2 some or all could not be
looked up.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: Path) -> int:
    """Print what was found, and give the exit code."""
    try:
        packages = json.loads(path.read_text("utf-8"))["dependencies"]
    except (OSError, ValueError):
        print("NOTHING WAS CHECKED: the vulnerability service could not be reached.", file=sys.stderr)
        return 2
    found = [(one, flaw) for one in packages for flaw in one.get("vulns", ())]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    for one, flaw in found:
        fixed = ", ".join(flaw["fix_versions"]) or "no version yet"
        print(f"{one['name']} {one['version']}: {flaw['id']}, fixed in {fixed}")
    looked_up = f"{len(packages) - len(skipped)} of {len(packages)} pinned packages were looked up"
    print(f"{looked_up}; known vulnerabilities: {len(found)}.")
    if skipped:
        which = ", ".join(skipped) if len(skipped) < len(packages) else "all of them"
        print(f"NOT CHECKED, since the vulnerability service does not know them here: {which}.", file=sys.stderr)
    return 1 if found else 2 if skipped or not packages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
