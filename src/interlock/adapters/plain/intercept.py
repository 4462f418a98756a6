"""From a call of a Python function to a guarded one: the function that stands in for the tool."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from interlock.adapters.guard.intercept import Interceptor
from interlock.adapters.guard.rationale import asking_annotations, asking_signature
from interlock.adapters.guard.tool import Tool


def stand_in(interceptor: Interceptor, tool: Tool) -> Callable[..., Any]:
    """The function that stands in for the tool: same name and signature, no way round."""
    if tool.parameters.takes_self:
        if tool.is_async:

            async def method_async(self: Any, /, *args: Any, **kwargs: Any) -> Any:
                return await interceptor.call_async(tool, (self,), args, kwargs)

            wrapper: Callable[..., Any] = method_async
        else:

            def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
                return interceptor.call(tool, (self,), args, kwargs)

            wrapper = method
    elif tool.is_async:

        async def function_async(*args: Any, **kwargs: Any) -> Any:
            return await interceptor.call_async(tool, (), args, kwargs)

        wrapper = function_async
    else:

        def function(*args: Any, **kwargs: Any) -> Any:
            return interceptor.call(tool, (), args, kwargs)

        wrapper = function
    if inspect.isroutine(tool.fn):
        functools.update_wrapper(wrapper, tool.fn)
        vars(wrapper).pop("__wrapped__", None)
    else:  # a partial or an object, whose attributes may be made up as they are asked for
        wrapper.__name__ = wrapper.__qualname__ = tool.spec.name
        wrapper.__doc__ = inspect.getdoc(type(tool.fn))
    shown = tool.parameters.visible_signature
    if tool.parameters.takes_self:
        first = next(iter(tool.parameters.signature.parameters.values()))
        shown = shown.replace(parameters=[first, *shown.parameters.values()])
    if tool.spec.asks_rationale:
        shown = asking_signature(shown)
        wrapper.__annotations__ = asking_annotations(tool.fn)
    wrapper.__signature__ = shown
    return wrapper
