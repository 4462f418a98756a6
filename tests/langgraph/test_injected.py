"""What a graph injects reaches the tool, wherever LangChain finds that it is to be injected."""

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from tests.langgraph.kinds import GO, THREAD
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock.langgraph import InterlockMiddleware
from interlock.testing import Rehearsal


class OnlyPath(BaseModel):
    path: str


def test_a_runtime_that_only_the_function_names_is_handed_on() -> None:
    written: list[str] = []

    def write(path: str, runtime: ToolRuntime) -> str:
        """Write."""
        written.append(f"{path} for {runtime.tool_call_id}")
        return path

    tool = StructuredTool.from_function(write, args_schema=OnlyPath, infer_schema=False)
    with Rehearsal() as stage:
        agent = create_agent(
            ScriptedModel(lines=[calls(("write", {"path": "/a"})), says()]),
            [tool],
            checkpointer=InMemorySaver(),
            middleware=[InterlockMiddleware(stage.il, name="writer", tools={"write": "reversible"})],
        )
        agent.invoke(GO, THREAD)
    assert written == ["/a for c1"]
