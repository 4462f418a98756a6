"""The description of the API (OpenAPI 3.1), made from the table of operations."""

from __future__ import annotations

from typing import Any

from interlock.wire.codec import codec_of
from interlock.wire.operations import OPERATIONS, Operation, Parameter
from interlock.wire.problems import MEDIA_TYPE

ERRORS = {
    "401": "No key, or one that is of no use",
    "403": "Not for the holder of this key",
    "404": "There is no such thing",
    "409": "It cannot be done as things stand; nothing was changed",
    "422": "Something does not fit; nothing was done",
    "429": "Too many requests",
    "503": "The store cannot be used",
}
BODY_ERRORS = {"413": "The body is too long", "415": "The body is not JSON"}


def document() -> dict[str, Any]:
    """The whole description."""
    schemas: dict[str, Any] = {"Problem": _PROBLEM}
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Interlock",
            "version": "1",
            "description": "Agents propose, claim and settle; people decide. A key speaks for one agent or one person.",
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
    }


_PROBLEM = {
    "type": "object",
    "description": "An error (RFC 9457). `code` is stable, `mend` says what to do.",
    "required": ["type", "title", "status", "detail", "code", "mend"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "mend": {"type": "string"},
        "error": {"type": "string"},
        "args": {"type": "array"},
        "by": {"type": ["string", "null"]},
        "at": {"type": ["string", "null"]},
    },
}


def _operation(each: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    body = [one for one in each.parameters if one.place == "body"]
    said: dict[str, Any] = {
        "operationId": f"{each.who}_{each.name}",
        "summary": each.says,
        "tags": [each.who],
        "parameters": [_parameter(one, schemas) for one in each.parameters if one.place != "body"],
        "responses": {
            "200": {
                "description": "Done",
                "content": {"application/json": {"schema": _schema(each.returns.schema, schemas)}},
            },
            **{
                status: {
                    "description": words,
                    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
                for status, words in (ERRORS if each.safe else {**ERRORS, **BODY_ERRORS}).items()
            },
        },
    }
    if not each.safe:
        said["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
            }
        )
        said["requestBody"] = {"required": True, "content": {"application/json": {"schema": _body(body, schemas)}}}
    return said


def _parameter(one: Parameter, schemas: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.place == "path" or one.required,
        "schema": _schema(codec_of(one.kind).schema, schemas),
    }


def _body(body: list[Parameter], schemas: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [one.name for one in body if one.required],
        "properties": {one.name: _schema(codec_of(one.kind).schema, schemas) for one in body},
    }


def _schema(made: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """A schema whose definitions stand among the components."""
    schemas.update(made.get("$defs", {}))
    return {name: each for name, each in made.items() if name != "$defs"}
