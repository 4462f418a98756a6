"""The kit compares what really ran, also where people may not see it or where it is stored apart."""

from typing import Any

import pytest

from interlock.testing import Rehearsal, modify


@pytest.mark.parametrize("reversibility", ["reversible", "read_only"])
@pytest.mark.parametrize("value", ["1234", "z" * 70_000])
def test_a_tool_that_ran_with_a_hidden_or_large_value_is_not_said_to_have_never_run(
    stage: Rehearsal, reversibility: Any, value: str
) -> None:
    @stage.il.tool(reversibility, sensitive=["pin"])
    def use(pin: str) -> str:
        return "used"

    with stage.il.run("job"):
        use(value)
    with pytest.raises(AssertionError):
        stage.assert_never_ran("use", pin=value)
    stage.assert_ran_once("use", pin=value)
    stage.assert_never_ran("use", pin="other")


def test_a_scripted_edit_takes_values_as_the_code_has_them(stage: Rehearsal) -> None:
    from decimal import Decimal

    paid: list[Decimal] = []

    @stage.il.tool("irreversible")
    def pay(amount: Decimal) -> Decimal:
        paid.append(amount)
        return amount

    def program() -> None:
        with stage.il.run("job"):
            pay(Decimal(1))

    program()
    stage.reviewer.decide(modify(amount=Decimal("720.00")))
    program()
    assert paid == [Decimal("720.00")]
