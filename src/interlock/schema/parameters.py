"""The parameters of a function: bind a call, validate it, store it, and make the call from what was stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import cast

from interlock.schema.codecs import TEXT
from interlock.schema.errors import SchemaError, key_path
from interlock.schema.shapes import shape_of
from interlock.schema.signatures import Argument, read_arguments
from interlock.schema.tags import ENVELOPE, Json, shape
from interlock.schema.validation import build_validator, json_schema, refusal

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_KEYWORD = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Parameters:
    """What a tool takes.

    `signature` is the whole signature, with `self` and hidden parameters; `visible_signature` is what the agent may
    give. `takes_self` tells that the function is a method looked up on its class: the caller keeps the instance, which
    is no argument. `names` are the visible parameters in order, `types` their types as people read them, `shapes` the
    same as data (see `shapes`), and `json_schema` a JSON Schema of the object of arguments (no additional properties).
    `*args` and `**kwargs` are one argument each: a tuple and a dict, under their own name. `plain_types` are the exact
    types of the arguments by position where each takes one native immutable type, validated by nothing else (None: not
    so).
    """

    signature: Signature
    visible_signature: Signature
    takes_self: bool
    names: tuple[str, ...]
    types: dict[str, str]
    shapes: dict[str, Json]
    json_schema: dict[str, object]
    plain_types: tuple[type, ...] | None

    @classmethod
    def of(cls, fn: Callable[..., object], *, hide: frozenset[str] = frozenset()) -> Parameters:
        """Read the parameters of a function, method, partial or callable object.

        `hide` names the parameters that are filled in by others than the agent. Raises SchemaError (`not_storable`)
        for an annotation or a default whose values cannot be stored, and for names that cannot be resolved.
        """
        return cls(fn, hide)

    def __init__(self, fn: Callable[..., object], hide: frozenset[str]) -> None:
        reading = read_arguments(fn, hide)
        self.signature = reading.signature
        self.visible_signature = reading.visible
        self.takes_self = reading.takes_self
        self._hidden = hide
        self._arguments = {argument.name: argument for argument in reading.arguments}
        self.names = tuple(self._arguments)
        self.types = {name: argument.codec.type_name for name, argument in self._arguments.items()}
        self.shapes = {name: shape_of(argument.codec) for name, argument in self._arguments.items()}
        name = getattr(fn, "__name__", None)
        adapter = build_validator(
            name if isinstance(name, str) else type(fn).__name__, reading.arguments, reading.namespace
        )
        self._validator = adapter.validator
        self._settle_defaults()
        self.json_schema = json_schema(adapter, reading.arguments)
        # What the fast paths of `bind` and `encode` need.
        kinds = {argument.kind for argument in reading.arguments}
        self._variadic = Parameter.VAR_POSITIONAL in kinds or Parameter.VAR_KEYWORD in kinds
        self._positional = tuple(a.name for a in reading.arguments if a.kind in _POSITIONAL)
        self._keywords = frozenset(a.name for a in reading.arguments if a.kind in _KEYWORD)
        self._required = frozenset(a.name for a in reading.arguments if not a.has_default)
        plain = {a.name: a.plain for a in reading.arguments}
        self._plain = None if None in plain.values() else cast("dict[str, frozenset[type[object]]]", plain)
        # None stands for text, which most arguments are.
        self.plain_types = self._all_plain(reading.arguments)
        self._writers = [(a.name, None if a.codec is TEXT else a.codec.write) for a in reading.arguments]

    def _all_plain(self, arguments: Sequence[Argument]) -> tuple[type, ...] | None:
        """The exact types by position, if each argument takes one immutable native type and nothing else matters."""
        if self._hidden or any(each.kind is not Parameter.POSITIONAL_OR_KEYWORD for each in arguments):
            return None
        types = [each.plain for each in arguments]
        if any(plain is None or len(plain) != 1 for plain in types):
            return None
        return tuple(next(iter(cast("frozenset[type]", plain))) for plain in types)

    def _settle_defaults(self) -> None:
        """Hold each default to its own annotation, so that it passes again when it is stored or edited."""
        for name, argument in self._arguments.items():
            if argument.has_default and argument.factory is None:
                try:
                    argument.default = self._validate({name: argument.default})[name]
                    argument.codec.check(argument.default, f"args.{name}")
                except SchemaError as error:
                    reason = f"the default does not fit the annotation: {error.reason}"
                    raise SchemaError(error.path, reason, "not_storable") from error

    def bind(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Bind the arguments of a call (without the instance), validate them and fill in the defaults.

        Returns name to value, each of its declared type; validators have run, so these are the values to show. What
        validation passes through unchanged is the caller's own object: run what `decode` gives, not this. Raises
        SchemaError (`arguments_invalid`) with a path such as `args.amount`.
        """
        if not kwargs and len(args) == len(self._positional):
            given = dict(zip(self._positional, args, strict=True))
        else:
            given = self._collect(args, kwargs)
        plain = self._plain
        if plain is not None:
            for name, value in given.items():
                if type(value) not in plain[name]:
                    break
            else:
                if len(given) == len(plain):
                    return given
                if self._required <= given.keys():
                    return self._fill(given)
        return self.validate(given)

    def _collect(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        if not self._variadic and len(args) <= len(self._positional):
            given = dict(zip(self._positional, args, strict=False))
            if not kwargs:
                return given
            if kwargs.keys() <= self._keywords and given.keys().isdisjoint(kwargs):
                given.update(kwargs)
                return given
        return self._collect_slowly(args, kwargs)

    def _collect_slowly(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Bind variadic parameters, and find the words for a call that does not fit."""
        try:
            return dict(self.visible_signature.bind_partial(*args, **kwargs).arguments)
        except TypeError as error:
            path, reason = "args", str(error)
            for name in kwargs:
                if name in self._positional[: len(args)]:
                    path, reason = f"args.{name}", "is given twice"
                elif name in self._hidden:
                    path, reason = f"args.{name}", "is filled in by the system"
                elif name not in self._keywords:
                    path, reason = f"args{key_path(name)}", "no such argument"
            raise SchemaError(path, reason, "arguments_invalid") from None

    def validate(self, values: Mapping[str, object]) -> dict[str, object]:
        """Validate values by name, as `bind` returns them, and fill in the defaults; raises like `bind`."""
        missing = self._required - values.keys()
        if missing:
            raise self._missing(missing)
        return self._fill(self._validate(dict(values)))

    def validate_json(
        self, mapping: Mapping[str, object], base: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """Turn a person's edit, plain JSON values by name, into typed values.

        Strings become dates, decimals, UUIDs and so on; bytes are base64url. A name that is missing keeps its value
        from `base` if that is given, else it takes its default. Raises SchemaError (`arguments_invalid`), also for
        names that are no arguments.
        """
        try:
            text = json.dumps(dict(mapping), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SchemaError("args", f"not JSON: {error}"[:200], "arguments_invalid") from None
        values: dict[str, object] = {name: base[name] for name in self.names if name in base} if base else {}
        values.update(self._validate(dict(mapping), text))
        missing = self._required - values.keys()
        if missing:
            raise self._missing(missing)
        return self._fill(values)

    def _validate(self, values: dict[str, object], text: str | None = None) -> dict[str, object]:
        try:
            if text is not None:
                return self._validator.validate_json(text)
            return self._validator.validate_python(values)
        except Exception as error:
            raise refusal(error, values) from error

    def _missing(self, names: frozenset[str]) -> SchemaError:
        first = next(name for name in self.names if name in names)
        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        return SchemaError(f"args.{first}", f"is required{more}", "arguments_invalid")

    def _fill(self, values: dict[str, object]) -> dict[str, object]:
        if len(values) == len(self._arguments):
            return values
        filled: dict[str, object] = {}
        for name, argument in self._arguments.items():
            if name in values:
                filled[name] = values[name]
            elif argument.factory is not None:
                filled[name] = self._validate({name: argument.factory(filled)})[name]
            else:
                filled[name] = argument.fresh_default()
        return filled

    def encode(self, values: Mapping[str, object]) -> dict[str, Json]:
        """Write validated values as an object of name to typed encoding.

        Raises SchemaError (`not_storable`) with a path such as `args.items[3].when`.
        """
        trees: dict[str, Json] = {}
        name = ""
        try:
            for name, write in self._writers:
                value = values[name]
                if write is None and type(value) is str and value.isascii():
                    trees[name] = value
                else:
                    # The action document and the event lie around the arguments and are held to the same depth.
                    trees[name] = (write or TEXT.write)(value, ENVELOPE)
        except SchemaError as error:
            error.under(f"args.{name}")
            raise
        except KeyError:
            raise SchemaError(f"args.{name}", "is required", "arguments_invalid") from None
        return trees

    def check_round_trip(self, values: Mapping[str, object], trees: Mapping[str, Json] | None = None) -> None:
        """Prove that every value comes back from its encoding as it is; `trees` saves encoding again.

        Raises SchemaError (`not_storable`, or what decoding raises).
        """
        if trees is None:
            trees = self.encode(values)
        for name, argument in self._arguments.items():
            argument.codec.check_tree(values[name], trees[name], f"args.{name}")

    def decode(self, tree: object) -> dict[str, object]:
        """Read stored arguments back; an argument that is new since then takes its default.

        Each call makes new objects. Raises SchemaError (`not_decodable`), also for arguments that are gone.
        """
        if type(tree) is not dict:
            raise SchemaError("args", f"expected an object, found {shape(tree)}", "not_decodable")
        trees = cast("dict[str, object]", tree)
        gone = trees.keys() - self._arguments.keys()
        if gone:
            raise SchemaError(f"args{key_path(min(gone))}", "is no longer an argument", "not_decodable")
        values = {
            name: argument.codec.decode(trees[name], f"args.{name}")
            for name, argument in self._arguments.items()
            if name in trees
        }
        missing = self._required - values.keys()
        if missing:
            raise SchemaError(f"args.{min(missing)}", "is not among the stored arguments", "not_decodable")
        return self._fill(values)

    def call_args(
        self, values: Mapping[str, object], hidden: Mapping[str, object] | None = None
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Arrange values for the call `fn(*args, **kwargs)`, without the instance.

        `hidden` gives values of hidden parameters; one that is not given keeps its own default. Raises SchemaError
        (`arguments_invalid`) for a hidden parameter with neither.
        """
        args: list[object] = []
        kwargs: dict[str, object] = {}
        for index, (name, parameter) in enumerate(self.signature.parameters.items()):
            if self.takes_self and index == 0:
                continue
            value: object = parameter.default
            if name in self._arguments:
                value = values[name]
            elif hidden and name in hidden:
                value = hidden[name]
            elif value is Parameter.empty:
                if parameter.kind is Parameter.VAR_KEYWORD or parameter.kind is Parameter.VAR_POSITIONAL:
                    continue
                raise SchemaError(f"args.{name}", "is filled in by the system, and was not", "arguments_invalid")
            if parameter.kind in _POSITIONAL:
                args.append(value)
            elif parameter.kind is Parameter.VAR_POSITIONAL:
                args.extend(cast("tuple[object, ...]", value))
            elif parameter.kind is Parameter.VAR_KEYWORD:
                kwargs.update(cast("dict[str, object]", value))
            else:
                kwargs[name] = value
        return tuple(args), kwargs
