"""Has everything imported that a worker imports, late or early: workers are forked from this; it keeps one thread."""

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from agent import stage
from dojo import SUITES, Case, fresh, suite

for name in SUITES:
    first = Case(name, next(iter(suite(name).user_tasks)))
    fresh(first)
with TemporaryDirectory() as folder, stage(first, Path(folder)) as there:
    there.begin()
assert threading.active_count() == 1, threading.enumerate()
