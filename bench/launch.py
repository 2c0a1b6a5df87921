"""Run a command, and print its time and the peak memory of its largest process: ``launch.py COMMAND…``.

Under Linux, a child process inherits the peak memory of the process that forks. Therefore this small process starts the
command.
"""

import json
import os
import subprocess
import sys
import time

start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
print(json.dumps({"seconds": seconds, "peak": usage.ru_maxrss * 1024}))
sys.exit(process.returncode)
