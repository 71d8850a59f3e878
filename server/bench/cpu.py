"""What CPU time a process and all its descendants have taken, from Linux's /proc."""

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def cpu_s(pid: int) -> float:
    """User and system time so far; that of children that have ended counts as well (proc(5))."""
    taken_s: dict[int, float] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            # Behind the name in brackets: state, parent, …, utime, stime, cutime, cstime.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            ticks = sum(map(int, fields[11:15]))
            taken_s[int(folder.name)] = ticks / os.sysconf("SC_CLK_TCK")
            children[int(fields[1])].append(int(folder.name))
    return _total(pid, taken_s, children)


def _total(pid: int, taken_s: dict[int, float], children: dict[int, list[int]]) -> float:
    below = sum(_total(child, taken_s, children) for child in children[pid])
    return taken_s.get(pid, 0.0) + below
