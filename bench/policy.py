"""What rules cost: a ruling under 20 rules that match, and a free call beside 200 rules for other tools.

Run with `./dev run python bench/policy.py`; prints JSON. Times are CPU microseconds of this thread; the smallest of
several rounds is the one that other work on the machine disturbed least. Ratios compare rounds of the same run.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from interlock import Interlock
from interlock.adapters.guard.tool import make_tool
from interlock.policy import PolicySet, Situation, explain, parse_policy, rule

RULINGS, CALLS, ROUNDS = 1_000, 5_000, 9
MATCHING, OTHERS = 20, 200


def rules(count: int, tool: str) -> str:
    condition = "args.amount > {}.0 && agent.environment != 'nowhere' && args.to.endsWith('.com')"
    return "version = 1\n" + "".join(
        f'[[rule]]\nname = "rule {number}"\ntools = ["{tool}"]\nwhen = "{condition.format(number)}"\n'
        f'interrupt_policy = "hard_stop"\n'
        for number in range(count)
    )


def refund(amount: Decimal, to: str) -> str:  # noqa: ARG001  a call with two arguments
    return to


def look(name: str, number: int) -> str:  # noqa: ARG001
    return name


def least(call: Callable[[int], object], count: int) -> float:
    rounds: list[float] = []
    for _ in range(ROUNDS):
        begun = time.thread_time()
        for number in range(count):
            call(number)
        rounds.append((time.thread_time() - begun) / count * 1e6)
    return min(rounds)


def rulings() -> dict[str, float]:
    tool = make_tool(refund, {"reversibility": "compensable"})
    arguments = tool.parameters.encode({"amount": Decimal(900), "to": "a@example.com"})
    situation = Situation(arguments=arguments)
    ruled, bare = parse_policy(rules(MATCHING, "refund")), PolicySet()
    assert len(rule(ruled, tool.spec, situation).rules) == MATCHING
    return {
        "no_rules": least(lambda _: rule(bare, tool.spec, situation), RULINGS),
        "matching_rules": least(lambda _: rule(ruled, tool.spec, situation), RULINGS),
        "explained": least(lambda _: explain(ruled, tool.spec, situation), RULINGS),
    }


def free_calls(folder: Path) -> dict[str, float]:
    file = folder / "policy.toml"
    file.write_text(rules(OTHERS, "another_tool"), encoding="utf-8")
    found: dict[str, float] = {}
    opened = {
        "no_rules": Interlock(f"sqlite:///{folder}/a.db"),
        "other_rules": Interlock(f"sqlite:///{folder}/b.db", policy=file),
    }
    calls = {name: il.tool("read_only")(look) for name, il in opened.items()}
    for turn in range(3):  # in turns, so that neither has the quieter machine
        for name, il in opened.items():
            with il.run(f"bench {turn}"):
                calls[name]("warm", 0)
                took = least(lambda number, call=calls[name]: call("hello", number), CALLS)  # type: ignore[misc]
                found[name] = min(took, found.get(name, took))
    for il in opened.values():
        il.close()
    return found


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    ruling, free = rulings(), free_calls(folder)
    shutil.rmtree(folder)
    print(json.dumps({
        "rulings": RULINGS * ROUNDS,
        "rules_that_match": MATCHING,
        "us_per_ruling": {name: round(value, 2) for name, value in ruling.items()},
        "us_per_matching_rule": round((ruling["matching_rules"] - ruling["no_rules"]) / MATCHING, 2),
        "rules_for_other_tools": OTHERS,
        "us_per_free_call": {name: round(value, 2) for name, value in free.items()},
        "free_call_ratio": round(free["other_rules"] / free["no_rules"], 3),
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
