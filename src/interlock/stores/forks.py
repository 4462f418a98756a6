"""A store belongs to the process that opened it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """Something that must not be used in a child process."""

    def after_fork(self) -> None:
        """Called in the child: refuse everything from now on, touch nothing that the parent uses."""
        ...


_watched: WeakSet[Inherited] = WeakSet()


def watch(one: Inherited) -> None:
    """Have `one.after_fork()` called in every child process that inherits it."""
    _watched.add(one)


def keep_for_ever(thing: object) -> None:
    """Never finalise an object, not even at exit.

    A connection to a database that a child inherits must not be closed there: closing it works on
    memory and locks that the parent still uses.
    """
    with suppress(ImportError):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _tell_all() -> None:
    for one in list(_watched):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell_all)
