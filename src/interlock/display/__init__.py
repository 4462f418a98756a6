"""The one sanitiser for everything that people see, on every surface.

Agents, tools and outside parties write the text that reviewers decide on. What they
write may not hide anything, pose as something else, or give a secret away. Web, mail,
chat, push and terminal all show what comes out of here. Pure: no I/O.
"""

from interlock.display.lookalikes import LookAlike, look_alike
from interlock.display.masks import mask_secrets
from interlock.display.sanitiser import Kind, Span, is_clean, plain, spans, truncated

__all__ = [
    "Kind",
    "LookAlike",
    "Span",
    "is_clean",
    "look_alike",
    "mask_secrets",
    "plain",
    "spans",
    "truncated",
]
