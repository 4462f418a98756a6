"""The whole API under generated requests: nothing breaks, and every error is one that is described."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from inbox_server import serving
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from interlock.domain.credential import CredentialKind
from interlock.wire.openapi import document

EXAMPLES = 12
SCHEMA = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory):  # noqa: ANN201
    folder: Path = tmp_path_factory.mktemp("api")
    with serving(folder) as served:
        served.shop.refunding.start("88-1204")
        served.shop.mail.start("ap@newco.example")
        issue = served.kernel.issue
        yield (
            served.url,
            {
                "agent": issue(CredentialKind.AGENT_KEY, "billing", by="operator:test", authn="key").token,
                "reviewer": issue(CredentialKind.REVIEWER_KEY, "ana", by="operator:test", authn="key").token,
            },
        )


@SCHEMA.exclude(operation_id=["reviewer_sign_out", "agent_changes", "reviewer_changes"]).parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_breaks_the_api_and_every_error_is_described(case, keys) -> None:  # noqa: ANN001
    url, tokens = keys
    (who,) = case.operation.tags
    case.call_and_validate(
        base_url=url,
        headers={"authorization": f"Bearer {tokens[who]}"},
        checks=[
            schemathesis.checks.not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )
