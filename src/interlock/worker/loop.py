"""The small loop: take due work under a lease, do it, strike it off; look after deadlines and the dead.

Everything it does is stated in rows, and claims make effects at most once, so a worker may die at
any point: another one (or the next start) goes on. A person's wait occupies nothing here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from interlock.domain.errors import RunError, SettingsError, StoreError
from interlock.domain.run import Run, RunState, Work, WorkKind
from interlock.kernel import Kernel

logger = logging.getLogger("interlock.worker")

SLOW_POLL_S = 1.0
"""How often the loop looks without a hint, in seconds."""

BACKOFF = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=2))


class Worker:
    """Resumes runs and carries out rollbacks, one at a time in one thread.

    `resume` goes on with a run in this thread, `rollback` undoes an action; `knows` tells whether a
    workflow is known here: work of others is left to others. `on_start` is told of every run before its pass,
    `on_pass` after it, `on_rollback` of every action whose undoing has ended, well or not.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        resume: Callable[[Run], Run],
        rollback: Callable[[Work], None],
        knows: Callable[[str], bool],
        on_pass: Callable[[Run], None] = lambda _: None,
        on_start: Callable[[Run], None] = lambda _: None,
        on_rollback: Callable[[Work], None] = lambda _: None,
    ) -> None:
        self._kernel = kernel
        self._resume = resume
        self._rollback = rollback
        self._knows = knows
        self._on_pass = on_pass
        self._on_start = on_start
        self._on_rollback = on_rollback
        self._stop = threading.Event()
        self._looked_after = 0.0

    def stop(self) -> None:
        """Finish what is under way, then return from `run_forever`. Safe in a signal handler."""
        self._stop.set()

    def run_forever(self) -> None:
        """Work until `stop`."""
        while not self._stop.is_set():
            try:
                idle = not self.step()
            except StoreError as error:
                if error.code in ("store_closed", "forked"):
                    raise
                # Locked, full or read-only: that passes or somebody mends it, and then the work is still there.
                logger.warning("the worker waits for its store: %s", error)
                self._stop.wait(SLOW_POLL_S)
            else:
                if idle:
                    self._kernel.wait_for_change(SLOW_POLL_S)

    def run_until_idle(self) -> int:
        """Work until nothing is due; answers how many pieces of work were done."""
        done = 0
        while not self._stop.is_set() and self.step(look_after=True):
            done += 1
        return done

    def step(self, *, look_after: bool = False) -> bool:
        """One piece of work, if some is due; answers whether there was."""
        if look_after or time.monotonic() - self._looked_after >= SLOW_POLL_S:
            self._looked_after = time.monotonic()
            self._kernel.bury_dead()
            self._kernel.expire_due()
        taken = self._kernel.take_work(self._mine)
        for work in taken:
            self._do(work)
        return bool(taken)

    def _mine(self, work: Work, run: Run | None) -> bool:
        return work.kind is WorkKind.ROLLBACK or run is None or self._knows(run.workflow)

    def _do(self, work: Work) -> None:
        try:
            if work.kind is WorkKind.ROLLBACK:
                self._rollback(work)
                self._on_rollback(work)
            else:
                self._resume_run(work)
        except RunError as error:
            if error.code in ("busy", "pass_lost", "process_lost"):
                self._kernel.return_work(work, "", timedelta(milliseconds=200))
            elif error.code in ("cancelled", "diverged", "needs_attention", "unknown_run"):
                self._kernel.finish_work(work)  # the run says so itself; there is nothing to resume
            else:
                self._give_back(work, error)
        except SettingsError as error:
            if error.code in ("unknown_tool", "other_version"):
                self._kernel.return_work(work, "", BACKOFF[1])  # another worker has it, or will
            else:
                self._give_back(work, error)
        except Exception as error:
            self._give_back(work, error)
        except BaseException:
            # Ctrl-C in the middle of a pass: the run has left; its resume stays due for whoever comes next.
            self._kernel.return_work(work, "", timedelta())
            raise
        else:
            self._kernel.finish_work(work)

    def _resume_run(self, work: Work) -> None:
        run = self._kernel.run(work.run)
        if run is None or run.state in (RunState.FINISHED, RunState.CANCELLED, RunState.FAILED):
            return
        self._on_start(run)
        try:
            ended = self._resume(run)
        except Exception:
            # What the code of a graph raises comes by here; its run is on record as failed by then, as a workflow's is.
            failed = self._kernel.run(run.id)
            if failed is None or failed.state is not RunState.FAILED:
                raise
            ended = failed
        self._on_pass(ended)

    def _give_back(self, work: Work, error: Exception) -> None:
        """An error of the machinery (a workflow's own is a failed run): try again later, and count."""
        delay = BACKOFF[min(work.attempts, len(BACKOFF)) - 1]
        self._kernel.return_work(work, f"{type(error).__name__}: {error}", delay)
