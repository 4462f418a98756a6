"""An edit beside what is hidden or masked never runs the mask."""

import pytest

from interlock import DecisionError
from interlock.testing import Rehearsal, modify

SECRET = "sk-live-0123456789abcdefghijklmnop"


@pytest.mark.parametrize("edit", ["key sk-…••••(sha256 12e558a6) thanks", "x [hidden · 12 characters · K7M2]"])
def test_a_mask_inside_longer_text_is_refused(stage: Rehearsal, edit: str) -> None:
    ran: list[str] = []

    @stage.il.tool("irreversible")
    def send(body: str) -> str:
        ran.append(body)
        return body

    with stage.il.run("job"):
        send(f"key {SECRET} please")
    with pytest.raises(DecisionError) as caught:
        stage.reviewer.decide(modify(body=edit))
    assert caught.value.code == "bad_edit"
    assert stage.states("job") == ["held"]
