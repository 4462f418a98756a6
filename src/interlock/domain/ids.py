"""Names for the things the record speaks of. Each is a UUIDv7 (RFC 9562) in its text form, or a hash."""

from __future__ import annotations

from typing import NewType

RunId = NewType("RunId", str)
ActionId = NewType("ActionId", str)
InterruptId = NewType("InterruptId", str)
DecisionId = NewType("DecisionId", str)
ProcessId = NewType("ProcessId", str)
EventId = NewType("EventId", str)
CallKey = NewType("CallKey", str)
EffectHash = NewType("EffectHash", str)
CredentialId = NewType("CredentialId", str)
Digest = NewType("Digest", str)
