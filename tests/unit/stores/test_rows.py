"""No field of the domain is forgotten on its way into a row."""

from dataclasses import fields

import pytest

from interlock.domain.action import Action, Revision, Traits, Versions
from interlock.domain.decision import Decision, Shown
from interlock.domain.interrupt import Interrupt
from interlock.domain.reviewers import Principal
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.run import Freeze, Process, Run, Ticket, Work
from interlock.stores.sql import tables

TABLES = {
    Run: tables.runs,
    Action: tables.actions,
    Revision: tables.revisions,
    Interrupt: tables.interrupts,
    Decision: tables.decisions,
    Process: tables.processes,
    Freeze: tables.freezes,
    Work: tables.work,
}

# What `forms` keeps in short lists. A new field needs a place there, with its default where a list is shorter.
PARTS = {
    Traits: "reversibility idempotent probed composite own_call_id reach tool_rev kind answers",
    Ruling: "policy wanted reasons profile policy_digest expires_in approval_valid_for window "
    "rules requires reason_required",
    Reason: "code words",
    Versions: "agent model prompt environment",
    Principal: "kind name authn session",
    Ticket: "tools actions cost life used spent",
    Shown: "channel render_digest opened dwell_ms batch",
}


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_field_has_its_column(kind: type) -> None:
    assert {one.name for one in fields(kind)} == set(TABLES[kind].columns.keys())


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_every_field_has_its_place_in_the_short_form(kind: type) -> None:
    assert [one.name for one in fields(kind)] == PARTS[kind].split()
