"""The agent's process: works until its standard input ends, that is until whoever started it stops it or dies.

`interlock worker interlock.cli.demo.agent:il`, run in the demo's folder, does the same.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

RUN = "mailbox"
"""The key of the demo's run."""


def when_input_ends(then: Callable[[], None]) -> None:
    """Call `then` in a thread of its own once standard input has ended."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        then()

    threading.Thread(target=wait, name="end-of-input", daemon=True).start()


def main(folder: str) -> None:
    """Start the run, unless an earlier worker did, and work on it."""
    os.chdir(folder)
    from interlock.cli.demo.agent import answer_mailbox, il

    worker = il.worker()
    when_input_ends(worker.stop)
    with il:
        answer_mailbox.submit(key=RUN)
        worker.run_forever()


if __name__ == "__main__":
    main(sys.argv[1])
