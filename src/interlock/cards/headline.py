"""What an action does, in one line, made from its tool's name and its validated arguments; never by the agent."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.cards.values import impostor, literal, texts
from interlock.cards.words import label, verb
from interlock.display import plain
from interlock.domain.hiding import HIDDEN, holds_hidden, is_hidden
from interlock.domain.tool import Reach, Reversibility, ToolSpec
from interlock.kernel.shown import masked_value
from interlock.kernel.views import ActionView, CardView
from interlock.schema import Json

_WHERE = (
    "to", "recipient", "recipients", "cc", "bcc", "email", "address", "payee", "beneficiary", "iban", "account",
    "phone", "channel", "url", "uri", "host", "domain", "endpoint", "target", "server", "destination",
)  # fmt: skip
_MONEY = ("amount", "total", "sum", "price", "cost", "currency", "quantity")
_RIGHTS = (
    "role",
    "roles",
    "permission",
    "permissions",
    "scope",
    "scopes",
    "access",
    "owner",
    "group",
    "user",
    "principal",
)
_RUNS = (
    "command",
    "cmd",
    "sql",
    "query",
    "statement",
    "script",
    "code",
    "path",
    "file",
    "filename",
    "table",
    "attachments",
)
_TITLES = ("question", "task", "subject", "title", "name", "reason", "id", "order", "customer")
_RANKS = {name: rank for rank, names in enumerate((_WHERE, _MONEY, _RIGHTS, _RUNS, _TITLES)) for name in names}
_TARGETS = ("to", "recipient", "recipients", "payee", "beneficiary", "iban", "email", "phone", "channel", "address")

NATURE = {
    Reversibility.IRREVERSIBLE: "irreversible",
    Reversibility.COMPENSABLE: "compensable",
    Reversibility.REVERSIBLE: "reversible",
    Reversibility.READ_ONLY: "read-only",
    None: "undeclared",
}


HIDDEN_HERE: Json = {"$t": HIDDEN, "v": "[hidden]"}
"""What stands in a headline for a value that is hidden, or masked as a secret."""


def by_risk(arguments: Mapping[str, Json]) -> list[str]:
    """Names of the arguments, the riskiest first: disguised ones, to whom and where, how much, who may, what runs."""

    def rank(name: str) -> tuple[int, int, int, int]:
        tree = arguments[name]
        hides = any(impostor(text) for text in texts(tree))
        plain_name = name.lower()
        by_name = _RANKS.get(plain_name, _RANKS.get(plain_name.rpartition("_")[2], len(_RANKS)))
        long = isinstance(tree, str) and len(tree) > 240
        return (0 if hides else 1, 1 if tree is None else 0, by_name, 1 if long else 0)

    return sorted(arguments, key=rank)


def headline(tool: str, arguments: Mapping[str, Json], limit: int = 48) -> str:
    """Verb and object: `Send email to ap@example.com`, `Transfer 1250.00 EUR to Northwind`, `Delete file: /tmp/x`."""
    said = verb(tool)
    arguments = {name: HIDDEN_HERE if masked_value(name, tree) != tree else tree for name, tree in arguments.items()}
    amount = next((name for name in _MONEY[:3] if name in arguments), None)
    if amount is not None:
        said += f" {_short(arguments[amount], 24)}"
        if isinstance(arguments.get("currency"), str):
            said += f" {_currency(str(arguments['currency']))}"
    target = next((name for name in _TARGETS if name in arguments), None)
    if target is not None:
        task = f": {_some(arguments['task'], limit)}" if "task" in arguments else ""
        return f"{said} to {_some(arguments[target], limit)}{task}"
    named = [
        name
        for name in by_risk(arguments)
        if name not in (amount, "currency") and arguments[name] is not None and not is_hidden(arguments[name])
    ]
    # A text says more of what it is about than a number does.
    other = next((name for name in named if isinstance(arguments[name], str)), next(iter(named), None))
    if other is None or len(literal(arguments[other])) > limit:
        return said
    shown = _some(arguments[other], limit)
    return f"{said}, {label(other).lower()} {shown}" if amount is not None else f"{said}: {shown}"


def _some(tree: Json, limit: int) -> str:
    if isinstance(tree, list) and tree:
        first = _short(tree[0], limit)
        return first if len(tree) == 1 else f"{first} and {len(tree) - 1} more"
    return _short(tree, limit)


def _short(tree: Json, limit: int) -> str:
    """A value in a sentence of ours; text in quotation marks, so that it cannot go on as our words."""
    if is_hidden(tree):
        return "[hidden]"
    if isinstance(tree, str):
        return _quoted(tree, limit)
    if isinstance(tree, dict) and isinstance(tree.get("$t"), str) and isinstance(tree.get("v"), str):
        text = str(tree["v"])
        return _quoted(text, limit) if tree["$t"] == "path" else plain(text, limit=limit)
    return plain(literal(tree), limit=limit)


def _quoted(text: str, limit: int) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain(escaped, limit=limit)}"'


def _currency(code: str) -> str:
    return code if code.isascii() and code.isalpha() and len(code) <= 4 else _quoted(code, 8)


def what(about: ActionView, limit: int = 48) -> str:
    """The headline of an action as it now stands."""
    return headline(about.action.tool, about.current.arguments, limit)


def what_card(view: CardView, limit: int = 48) -> str:
    """The headline of the revision that a card is about."""
    arguments = next(each.arguments for each in view.about.revisions if each.number == view.card.revision)
    return headline(view.about.action.tool, arguments, limit)


def one_fact(about: ActionView, limit: int = 44) -> str:
    """The argument that matters most of those that the headline does not name, or ""."""
    arguments = about.current.arguments
    said = what(about)
    for name in by_risk(arguments):
        shown = _some(arguments[name], limit)
        concealed = holds_hidden(arguments[name]) or masked_value(name, arguments[name]) != arguments[name]
        if shown and arguments[name] is not None and shown not in said and not concealed:
            return f"{label(name)}: {shown}"
    return ""


def needs_whole(tool: ToolSpec) -> bool:
    """Whether nobody may approve it without having had all of it shown: outward, costly, or not to be undone."""
    free = tool.reversibility in (Reversibility.REVERSIBLE, Reversibility.READ_ONLY)
    return not free or bool(tool.reach) or tool.cost is not None


def consequence(tool: ToolSpec) -> str:
    """What happens when it runs, by what its tool declares."""
    said = {
        Reversibility.IRREVERSIBLE: "It takes effect at once and cannot be undone.",
        Reversibility.COMPENSABLE: "It takes effect at once. It cannot be undone, only made good afterwards"
        + ("; its tool says how (interlock rollback)." if tool.compensated else ", by hand: its tool declares no way."),
        Reversibility.REVERSIBLE: "It takes effect at once. It can be undone.",
        Reversibility.READ_ONLY: "It only reads; nothing changes.",
        None: "Nobody declared what this tool does. Reckon with an effect that cannot be undone.",
    }[tool.reversibility]
    more = {
        Reach.OUTWARD: "It reaches outside.",
        Reach.SPENDS: "It spends money.",
        Reach.PRIVILEGE: "It changes who may do what.",
        Reach.DELEGATES: "It sets another agent going.",
    }
    if tool.composite:
        said += " Guarded calls inside it ask for themselves."
    parts = [said, *(words for reach, words in more.items() if reach in tool.reach)]
    if tool.cost is not None:
        parts.append(f"Declared cost: {tool.cost:f}.")
    return " ".join(parts)
