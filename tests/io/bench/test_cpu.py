import os
import subprocess
import sys

from server.bench.cpu import cpu_s

BURN = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"


def test_the_cpu_time_of_children_counts_while_they_live_and_after() -> None:
    before_s = cpu_s(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        assert cpu_s(os.getpid()) - before_s >= 0.25
        child.stdin.write("\n")
    assert cpu_s(os.getpid()) - before_s >= 0.25
