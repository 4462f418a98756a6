"""Makes docs/reference/python.md from the code: every public class with its methods, as their docstrings tell.

`./dev run python tests/docs/python_reference.py` writes the page; a test sees that it is what the code says.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from interlock import Desk, DidNotHappen, Happened, Interlock, Run, Versions
from interlock.adapters.guard.checks import Call
from interlock.testing import ManualClock, Rehearsal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"

HEAD = """# Python

The public classes and what they offer, made from the code by `./dev run python tests/docs/python_reference.py`. How to
use them is told in the [how-to guides](../index.md#do); [errors](errors.md) and [keywords of tools](tools.md) have
pages of their own.
"""

CLASSES: tuple[tuple[str, type[Any], str], ...] = (
    ("Interlock", Interlock, "from interlock import Interlock"),
    ("Run", Run, "from interlock import Run"),
    ("Call", Call, "what a check of `il.before` and `il.after` gets"),
    ("Desk", Desk, "from interlock import Desk"),
    ("Versions", Versions, "from interlock import Versions"),
    ("Happened", Happened, "from interlock import Happened"),
    ("DidNotHappen", DidNotHappen, "from interlock import DidNotHappen"),
    ("Rehearsal", Rehearsal, "from interlock.testing import Rehearsal"),
    ("ManualClock", ManualClock, "from interlock.testing import ManualClock"),
)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name, cls, home in CLASSES:
        where = f"`{home}`" if home.startswith("from ") else home[0].upper() + home[1:]
        parts.append(f"## {name}\n\n{where}.\n\n{_words(cls)}\n")
        parts += [f"### {name}.{each}\n\n{said}\n" for each, said in members(cls)]
    return "\n".join(parts)


def members(cls: type[Any]) -> Iterator[tuple[str, str]]:
    """Public methods and properties in the order in which the classes, the base first, define them."""
    seen: set[str] = set()
    for base in reversed(cls.__mro__[:-1]):
        if not base.__module__.startswith("interlock"):
            continue
        for name in vars(base):
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            final = inspect.getattr_static(cls, name)
            if isinstance(final, property):
                yield name, _words(final)
            elif inspect.isfunction(final):
                yield name, f"```text\n{_signature(name, final)}\n```\n\n{_words(final)}"


def _signature(name: str, fn: Callable[..., Any]) -> str:
    """The signature as it stands in the code, without `self`, over several lines where it is long."""
    signature = inspect.signature(fn)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    shown = [_parameter(each) for each in parameters]
    marks = _marked(parameters, shown)
    result = "" if signature.return_annotation is inspect.Signature.empty else f" -> {signature.return_annotation}"
    kind = "async " if inspect.iscoroutinefunction(fn) else ""
    line = f"{kind}{name}({', '.join(marks)}){result}"
    return line if len(line) <= 100 else f"{kind}{name}(\n" + "".join(f"    {each},\n" for each in marks) + f"){result}"


def _parameter(each: inspect.Parameter) -> str:
    """One parameter as it stands in the code: annotations are texts there."""
    said = str(each.replace(annotation=inspect.Parameter.empty))
    said = re.sub(r"<class '(\w+)'>", r"\1", re.sub(r"<factory>|<[^>]* object at 0x[^>]*>", "…", said))
    if each.annotation is inspect.Parameter.empty:
        return said
    name, sign, default = said.partition("=")
    return f"{name}: {each.annotation}" + (f" = {default}" if sign else "")


def _marked(parameters: list[inspect.Parameter], shown: list[str]) -> list[str]:
    """With the `*` before what can be given by keyword only."""
    marks: list[str] = []
    for each, text in zip(parameters, shown, strict=True):
        varied = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)
        if each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in marks and not varied:
            marks.append("*")
        marks.append(text)
    return marks


def _words(documented: object) -> str:
    said = inspect.getdoc(documented) or ""
    # Examples in docstrings are indented; a page that runs its code shows them as text.
    return re.sub(
        r"(?:^    .*\n?)+", lambda block: f"```text\n{inspect.cleandoc(block[0])}\n```\n", said, flags=re.MULTILINE
    ).strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
