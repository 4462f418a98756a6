"""What a tool may declare, and what is refused before it is ever called."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from interlock.domain.errors import SettingsError
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy import LONGEST, check

READ, REVERSIBLE, COMPENSABLE, IRREVERSIBLE = Reversibility
MINUTE = timedelta(minutes=1)
TINY = timedelta(microseconds=1)


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"reversibility": IRREVERSIBLE},
        {"reversibility": COMPENSABLE, "compensated": True, "interrupt_policy": "soft_checkpoint", "window": MINUTE},
        {"reversibility": REVERSIBLE, "compensated": True, "interrupt_policy": "async_notification"},
        {"reversibility": IRREVERSIBLE, "compensated": True},
        {"reversibility": IRREVERSIBLE, "interrupt_policy": "none"},
        {"reversibility": REVERSIBLE, "window": MINUTE},
        {"reversibility": REVERSIBLE, "interrupt_policy": InterruptPolicy.DENY},
        {"reversibility": READ, "interrupt_policy": "confidence_gated"},
        {"reversibility": READ, "interrupt_policy": "none", "confidence_threshold": 1},
        {
            "reversibility": COMPENSABLE,
            "interrupt_policy": "confidence_gated",
            "confidence_threshold": 0.7,
            "window": MINUTE,
        },
        {"reversibility": IRREVERSIBLE, "idempotent": True, "idempotency_key": "key"},
        {"reversibility": IRREVERSIBLE, "composite": True, "probed": True, "compensated": True},
        {"reversibility": READ, "cost": Decimal(0), "reach": frozenset(Reach)},
        {"expires_in": TINY, "approval_valid_for": LONGEST},
    ],
)
def test_what_fits_together_passes(declared: dict[str, Any]) -> None:
    check(ToolSpec("act", **declared))


@pytest.mark.parametrize(
    ("code", "declared"),
    [
        ("unknown_policy", {"interrupt_policy": "hardstop"}),
        ("unknown_policy", {"interrupt_policy": ""}),
        ("unknown_policy", {"interrupt_policy": "HARD_STOP"}),
        ("async_without_undo", {"reversibility": REVERSIBLE, "interrupt_policy": "async_notification"}),
        ("async_without_undo", {"reversibility": READ, "interrupt_policy": InterruptPolicy.ASYNC_NOTIFICATION}),
        ("window_without_soft_checkpoint", {"interrupt_policy": "hard_stop", "window": MINUTE}),
        ("window_without_soft_checkpoint", {"interrupt_policy": "none", "window": MINUTE}),
        ("window_without_soft_checkpoint", {"interrupt_policy": "deny", "window": MINUTE}),
        ("bad_threshold", {"confidence_threshold": 0}),
        ("bad_threshold", {"confidence_threshold": -0.1}),
        ("bad_threshold", {"confidence_threshold": 1.01}),
        ("bad_threshold", {"confidence_threshold": 70}),
        ("bad_threshold", {"confidence_threshold": float("nan"), "interrupt_policy": "confidence_gated"}),
        ("bad_duration", {"expires_in": timedelta(0)}),
        ("bad_duration", {"expires_in": -MINUTE}),
        ("bad_duration", {"expires_in": timedelta.max}),
        ("bad_duration", {"window": -MINUTE, "interrupt_policy": "soft_checkpoint"}),
        ("bad_duration", {"approval_valid_for": timedelta(0)}),
        ("bad_duration", {"approval_valid_for": LONGEST + TINY}),
        ("bad_cost", {"cost": Decimal("-0.01")}),
        ("bad_cost", {"cost": Decimal("NaN")}),
        ("bad_cost", {"cost": Decimal("sNaN")}),
        ("bad_cost", {"cost": Decimal("Infinity")}),
        ("key_without_idempotent", {"idempotency_key": "key"}),
        ("composite_idempotent", {"composite": True, "idempotent": True}),
        ("nothing_to_undo", {"reversibility": READ, "compensated": True}),
    ],
)
def test_what_contradicts_itself_is_refused_with_a_mend(code: str, declared: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as caught:
        check(ToolSpec("act", **declared))
    assert caught.value.code == code
    assert caught.value.message.startswith("act: ")
    assert caught.value.mend.endswith(".")
    assert "\n" not in str(caught.value)


def test_the_mend_for_an_unknown_policy_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError) as caught:
        check(ToolSpec("act", interrupt_policy="ask"))
    assert all(policy.value in caught.value.mend for policy in InterruptPolicy)
    assert "confidence_gated" in caught.value.mend
