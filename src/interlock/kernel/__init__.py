"""One object that holds the ports and offers each use case as a method; the gate within a process."""

from interlock.kernel.kernel import Kernel
from interlock.kernel.views import ActionView, CardView, RunView

__all__ = ["ActionView", "CardView", "Kernel", "RunView"]
