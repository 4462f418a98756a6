"""The names in a CEL expression and where they stand: the evaluator tells what an expression gives, not of what it is.

Only for expressions that the evaluator has compiled, so that this needs no grammar: which names begin at a variable
(`args.to.name`), which literals there are, and what stands on both sides of `==`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r"|(?P<string>[rRbB]{0,2}(?:\"\"\"(?:\\[\s\S]|(?!\"\"\")[^\\])*\"\"\"|'''(?:\\[\s\S]|(?!''')[^\\])*'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))"
    r"|(?P<number>0x[0-9a-fA-F]+u?|\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>&&|\|\||[<>=!]=|.)",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SIGNS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NO_VARIABLES: Final = frozenset({"true", "false", "null", "in"})
_MACROS: Final = frozenset({"all", "exists", "exists_one", "map", "filter", "existsOne"})
_ENDS: Final = frozenset({"&&", "||", "!", "?", ":", "(", ")", "[", "]", "{", "}", ",", "==", "!=", "in"})


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression: `string`, `number`, `name` or `sign`, and the offset at which it starts."""

    kind: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable and the fields that are named after it: `args.booking.room`; `first` and `last` are its tokens."""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    first: int
    last: int

    @property
    def root(self) -> str:
        """The variable."""
        return self.names[0]

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Names:
    """What an expression mentions. `bound` are the names that its macros bind, with their offsets."""

    tokens: tuple[Token, ...]
    references: tuple[Reference, ...]
    bound: tuple[tuple[str, int], ...]

    def fields(self, root: str) -> frozenset[str] | None:
        """The fields of a variable that are mentioned; None where it is taken as a whole."""
        used = [reference for reference in self.references if reference.root == root]
        if any(len(reference.names) == 1 for reference in used):
            return None
        return frozenset(reference.names[1] for reference in used)

    def literals(self) -> tuple[object, ...]:
        """The values of all literals."""
        return tuple(value_of(token) for token in self.tokens if token.kind in ("string", "number"))

    def equalities(self) -> list[tuple[Reference, object, int]]:
        """Each `variable == literal` (or `!=`, or `in`, either way round), and where the comparison stands."""
        at_first = {reference.first: reference for reference in self.references}
        at_last = {reference.last: reference for reference in self.references}
        found: list[tuple[Reference, object, int]] = []
        for index, token in enumerate(self.tokens):
            if token.text not in ("==", "!="):
                continue
            before, after = self._alone(index - 1, at_last), self._alone(index + 1, at_first)
            for one, other in ((before, after), (after, before)):
                if isinstance(one, Reference) and isinstance(other, Token):
                    found.append((one, value_of(other), token.start))
        return found

    def _alone(self, index: int, at: dict[int, Reference]) -> Reference | Token | None:
        """The literal or variable at a token, where nothing else belongs to that side of the comparison."""
        reference = at.get(index)
        first, last = (reference.first, reference.last) if reference else (index, index)
        token = self.tokens[index]
        if reference is None and not (token.kind in ("string", "number") or token.text in ("true", "false", "null")):
            return None
        around = [self.tokens[each].text for each in (first - 1, last + 1) if 0 <= each < len(self.tokens)]
        return (reference or token) if all(text in _ENDS for text in around) else None


def names_of(text: str) -> Names:
    """Read the names of an expression that compiles."""
    found = [Token(str(match.lastgroup), match[0], match.start()) for match in _TOKEN.finditer(text)]
    tokens = tuple(token for token in found if token.kind != "space")
    bound: list[tuple[str, int]] = []
    references: list[Reference] = []
    for index, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = tokens[index - 1].text if index else ""
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if before == "." or token.text in _NO_VARIABLES:
            if before == "." and token.text in _MACROS and after == "(" and tokens[index + 2].kind == "name":
                bound.append((tokens[index + 2].text, tokens[index + 2].start))
        elif after != "(":
            references.append(_reference(tokens, index))
    return Names(tokens, tuple(references), tuple(bound))


def _reference(tokens: tuple[Token, ...], first: int) -> Reference:
    names, starts, last = [tokens[first].text], [tokens[first].start], first
    while True:
        following = [token.text for token in tokens[last + 1 : last + 4]] + ["", "", ""]
        if following[0] == "." and following[2] != "(":
            names.append(following[1])
            starts.append(tokens[last + 2].start)
            last += 2
        elif following[0] == "[" and following[2] == "]" and tokens[last + 2].kind == "string":
            names.append(str(value_of(tokens[last + 2])))
            starts.append(tokens[last + 2].start)
            last += 3
        else:
            return Reference(tuple(names), tuple(starts), first, last)


def value_of(token: Token) -> object:
    """The value of a literal."""
    constants: dict[str, object] = {"true": True, "false": False, "null": None}
    if token.text in constants:
        return constants[token.text]
    if token.kind == "string":
        return _string(token.text)
    text = token.text.rstrip("uU")
    return int(text, 16) if text.startswith("0x") else float(text) if re.search(r"[.eE]", text) else int(text)


def _string(text: str) -> str | bytes:
    """A string, or bytes where it says so."""
    prefix = text[: min(text.index(quote) for quote in "\"'" if quote in text)].lower()
    quoted = text[len(prefix) :]
    opening = 3 if quoted.startswith(('"""', "'''")) else 1
    inside = quoted[opening:-opening]
    plain = inside if "r" in prefix else _ESCAPE.sub(_unescaped, inside)
    return plain.encode() if "b" in prefix else plain


def _unescaped(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    if digits:
        return chr(int(digits, 16))
    return chr(int(escape[4], 8)) if escape[4] else _SIGNS.get(escape[5], escape[5])
