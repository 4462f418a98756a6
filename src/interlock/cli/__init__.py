"""The command line: what a person at a terminal can ask, see and decide. It speaks to a `Desk`, never past it.

Modules of commands are imported when their command runs, so that `interlock --help` is quick.
"""

from interlock.cli.program import main

__all__ = ["main"]
