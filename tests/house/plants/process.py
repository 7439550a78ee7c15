# SPDX-License-Identifier: MIT
"""Running one test program, and telling whether it hangs.

A program hangs when it has used far more processor time than without the plant, or when for a while
its processes hardly ran, nor could have run: they sleep, or wake only to look at a lock. So a busy
machine makes no program hang."""
import os
import resource
import signal
import subprocess
import time

IDLE_SECONDS = 20   # the program's processes hardly ran for so long:
IDLE_SHARE = 0.2    # of that time, in all
CPU_SECONDS = 60    # more than CPU_FACTOR times what it used without the plant, and this
CPU_FACTOR = 10
TICKS = os.sysconf('SC_CLK_TCK')

PASSED, FAILED, SKIPPED, HUNG = 'passed', 'failed', 'skipped', 'hangs'


def session_processes(session):
    """(pid, state, processor seconds) of each process of the session."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
                fields = file.read().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            found.append((int(pid), fields[0], sum(map(int, fields[11:15])) / TICKS))
    return found


def kill_session(session):
    """Ends each process of the session."""
    for pid, _, _ in session_processes(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def children_seconds():
    """Processor seconds of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Watch:
    """Looks at a session now and then."""

    def __init__(self, session, limit):
        self.session = session
        self.limit = limit
        self.used = self.used_before = 0.0
        self.looks = self.could_run = 0
        self.since = time.monotonic()

    def begin(self):
        """Begins to look whether it is idle."""
        self.since = time.monotonic()
        self.used_before = self.used
        self.looks = self.could_run = 0

    def is_idle(self):
        few = IDLE_SHARE * IDLE_SECONDS
        return self.used - self.used_before < few and self.could_run < IDLE_SHARE * self.looks

    def hangs(self):
        processes = session_processes(self.session)
        self.used = max(self.used, sum(seconds for _, _, seconds in processes))
        self.looks += 1
        self.could_run += any(state == 'R' for _, state, _ in processes)
        if self.used > self.limit:
            return True
        if time.monotonic() - self.since < IDLE_SECONDS:
            return False
        idle = self.is_idle()
        self.begin()
        return idle


def await_end(process, watch):
    """True: it ended by itself. False: it hangs."""
    pause = 0.005
    while process.poll() is None:
        time.sleep(pause)
        pause = min(2 * pause, 0.5)
        if pause == 0.5 and watch.hangs():
            return False
    return True


def run(command, directory, environment, log, expected_seconds):
    """Runs a test. Returns its outcome and its processor seconds; its output goes to `log`."""
    before = children_seconds()
    with open(log, 'wb') as output:
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        watch = Watch(process.pid, CPU_SECONDS + CPU_FACTOR * expected_seconds)
        try:
            ended = await_end(process, watch)
        finally:
            kill_session(process.pid)
            code = process.wait()
    seconds = max(children_seconds() - before, watch.used)
    if not ended:
        return HUNG, seconds
    return {0: PASSED, 77: SKIPPED}.get(code, FAILED), seconds
