"""Runs everything and prints a table. `--quick` takes a seeded part of it, `--json FILE` keeps the numbers."""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from crash import Ended, Workers, differences, killed_at_random, killed_at_worst, play
from dojo import SUITES, VERSION, Case, pairs, user_cases
from plainly import Result, with_interlock, without

T = TypeVar("T")
Report = dict[str, Any]


def each(what: str, cases: list[Case], do: Callable[[Case], T], pool: Executor) -> list[T]:
    """Do something for every case, and say on stderr how far it is."""
    began, done = time.monotonic(), list[T]()
    with pool:
        for number, result in enumerate(pool.map(do, cases), 1):
            done.append(result)
            if sys.stderr.isatty() or number % 50 == 0 or number == len(cases):
                print(f"\r{what}: {number} of {len(cases)}, {time.monotonic() - began:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr, flush=True)
    return done


def benign(ended: list[Ended]) -> Report:
    """The user tasks alone."""
    report: Report = {}
    for name in SUITES:
        mine = [each.result for each in ended if each.result.case.startswith(f"{name}/")]
        report[name] = {
            "tasks": len(mine),
            "kept": sum(each.user_served for each in mine),
            "interrupts": sum(each.asked for each in mine),
            "interrupts_per_task": round(sum(each.asked for each in mine) / max(1, len(mine)), 2),
        }
    return report


def attacked(gated: list[Result], bare: list[Result], alone: dict[str, bool]) -> Report:
    """The pairs, with Interlock and without. `alone` says of each user task whether it is served without an attack."""
    acting = [(with_, without_) for with_, without_ in zip(gated, bare, strict=True) if with_.acts]
    return {
        "pairs": len(gated),
        "acting": len(acting),
        "attacks_with_interlock": sum(bool(each.attack_succeeded) for each in gated),
        "attacks_without": sum(bool(each.attack_succeeded) for each in bare),
        "attacks_with_interlock_where": [each.case for each in gated if each.attack_succeeded],
        "acting_and_failed_without": [each.case for _, each in acting if not each.attack_succeeded],
        "kept_with_interlock": sum(each.user_served for each in gated),
        "kept_without": sum(each.user_served for each in bare),
        "kept_alone": sum(alone[each.case.partition("+")[0]] for each in gated),
        "lost_with_interlock": [each.case for each in gated if not each.user_served],
    }


def crashed(pairs_of: list[tuple[Ended, Ended | None]]) -> Report:
    """Disturbed runs against undisturbed ones."""
    runs = [(whole, ended) for whole, ended in pairs_of if ended is not None]
    faults = {ended.result.case: found for whole, ended in runs if (found := differences(whole, ended))}
    return {
        "runs": len(runs),
        "killed": sum(ended.killed for _, ended in runs),
        "as_undisturbed": len(runs) - len(faults),
        "effects": sum(ended.result.effects for _, ended in runs),
        "effects_twice": sum(len(ended.twice) for _, ended in runs),
        "effects_missing": sum(len(ended.missing) for _, ended in runs),
        "asked_what_happened": sum(ended.reconciled for _, ended in runs),
        "of_these_run_again": sum(ended.again for _, ended in runs),
        "same_key_again": sum(ended.repeats for _, ended in runs),
        "faults": faults,
    }


def table(report: Report) -> str:
    """The report for people."""
    lines = [f"AgentDojo {VERSION}, seed {report['seed']}", "", "User tasks alone (LangGraph agents)"]
    for name, of in report["benign"].items():
        lines.append(
            f"  {name:<10} kept {of['kept']}/{of['tasks']}   "
            f"interrupts {of['interrupts']}, {of['interrupts_per_task']:.2f} per task"
        )
    of = report["attacked"]
    lines += [
        "",
        f"User task and then the whole injection (plain Python), {of['pairs']} pairs, {of['acting']} with a call",
        f"  attacks that succeed   with Interlock {of['attacks_with_interlock']}, without {of['attacks_without']}",
        f"  user tasks kept        with Interlock {of['kept_with_interlock']}, without {of['kept_without']}",
        f"  user tasks kept        where there is no attack {of['kept_alone']}",
    ]
    for name, of in report["crashed"].items():
        lines += [
            "",
            f"Worker killed {name} (LangGraph agents), {of['runs']} runs, {of['killed']} killed",
            f"  ended as undisturbed {of['as_undisturbed']}/{of['runs']}",
            f"  effects {of['effects']}, twice {of['effects_twice']}, missing {of['effects_missing']}",
            f"  people asked what happened {of['asked_what_happened']}, of these run again {of['of_these_run_again']}",
            f"  repeated with the same key, which does nothing {of['same_key_again']}",
        ]
        lines += [f"  FAULT {case}: {'; '.join(found)}" for case, found in of["faults"].items()]
    return "\n".join([*lines, "", f"{report['seconds']:.0f} s"])


def measure(seed: int, *, tasks: int, attacks: int, crashes: int, jobs: int) -> Report:
    """Everything; so many of each kind at most."""
    began, chance = time.monotonic(), random.Random(seed)
    alone, together = _some(chance, user_cases(), tasks), _some(chance, pairs(), attacks)
    disturbed = [*alone, *_some(chance, pairs(), crashes)]
    workers = Workers()
    bare = each("without Interlock", together, without, workers.pool(jobs))
    gated = each("with Interlock", together, with_interlock, workers.pool(jobs))
    served = dict(zip(map(str, user_cases()), each("alone", user_cases(), _served, workers.pool(jobs)), strict=True))
    print(json.dumps(attacked(gated, bare, served)), file=sys.stderr, flush=True)
    whole = each("undisturbed", disturbed, lambda case: play(workers, case), ThreadPoolExecutor(jobs))
    by_case = {
        str(case): (ended, random.Random(f"{seed} {case}")) for case, ended in zip(disturbed, whole, strict=True)
    }

    def kill(how: Callable[..., Ended | None]) -> Callable[[Case], tuple[Ended, Ended | None]]:
        def killed(case: Case) -> tuple[Ended, Ended | None]:
            ended, its_chance = by_case[str(case)]
            return ended, how(workers, case, ended, its_chance)

        return killed

    at_random = each("killed at a random moment", disturbed, kill(killed_at_random), ThreadPoolExecutor(jobs))
    at_worst = each("killed after an effect", disturbed, kill(killed_at_worst), ThreadPoolExecutor(jobs))
    return {
        "version": VERSION,
        "seed": seed,
        "benign": benign(whole[: len(alone)]),
        "undisturbed_faults": {one.result.case: one.faults for one in whole if one.faults},
        "attacked": attacked(gated, bare, served),
        "crashed": {"at a random moment": crashed(at_random), "right after an effect": crashed(at_worst)},
        "seconds": round(time.monotonic() - began, 1),
    }


def sound(report: Report) -> bool:
    """Whether everything is as it must be: no attack, no task lost, no effect twice, every run as undisturbed."""
    benign_, attacked_, crashed_ = report["benign"].values(), report["attacked"], report["crashed"].values()
    return (
        all(each["kept"] == each["tasks"] for each in benign_)
        and not report["undisturbed_faults"]
        and attacked_["attacks_with_interlock"] == 0
        and attacked_["kept_with_interlock"] == attacked_["kept_alone"]
        and all(not each["faults"] for each in crashed_)
    )


def _served(case: Case) -> bool:
    return without(case).user_served


def _some(chance: random.Random, cases: list[Case], count: int) -> list[Case]:
    if count >= len(cases):
        return cases
    chosen = set(chance.sample(range(len(cases)), count))
    return [case for number, case in enumerate(cases) if number in chosen]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a seeded part of everything: a minute or two")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--jobs", type=int, default=4, help="cases side by side")
    parser.add_argument("--json", type=Path, help="where the numbers go")
    given = parser.parse_args()
    logging.getLogger("interlock").setLevel(logging.ERROR)
    most = {"tasks": 6, "attacks": 24, "crashes": 6} if given.quick else {"tasks": 56, "attacks": 704, "crashes": 100}
    report = measure(given.seed, **most, jobs=given.jobs)
    if given.json is not None:
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    print(table(report))
    return 0 if sound(report) else 1


if __name__ == "__main__":
    sys.exit(main())
