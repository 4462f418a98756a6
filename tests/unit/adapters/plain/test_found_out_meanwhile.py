"""What is found out about a doubtful action while a pass comes by it again."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from interlock.ports.store import Unit
from interlock.testing import Rehearsal, found_done
from interlock.testing.failing_store import StoreAround


class Meddled(StoreAround):
    """A store at which somebody else is quicker: `first` happens before a unit of the given name is carried out."""

    def __init__(self, inner: Any, name: str) -> None:
        super().__init__(inner)
        self.name, self.first = name, lambda: None
        for method in ("write_soon", "write_later", "read", "flush"):
            setattr(self, method, getattr(inner, method))

    def write(self, unit: Unit[Any]) -> "Future[Any]":
        if unit.__qualname__.startswith(self.name):
            first, self.first = self.first, lambda: None
            first()
        return self._inner.write(unit)


def test_an_answer_that_comes_just_before_the_pause_is_taken_and_nobody_waits() -> None:
    with Rehearsal() as stage:
        store = Meddled(stage.open_store(), "park.")
        il = stage.another(store=store)

        @il.tool("irreversible")
        def send(to: str) -> str:
            raise TimeoutError("no answer")

        workflow = il.workflow(lambda: send("bob"))
        workflow.start(key="job-1")
        stage.reviewer.decide("approve")
        assert workflow.start(key="job-1").status == "waiting"

        def meanwhile() -> None:
            with ThreadPoolExecutor(1) as elsewhere:
                elsewhere.submit(stage.reviewer.decide, found_done("sent")).result()

        store.first = meanwhile
        again = workflow.start(key="job-1")
        assert store.first is not meanwhile
        assert (again.status, again.result) == ("finished", "sent")
