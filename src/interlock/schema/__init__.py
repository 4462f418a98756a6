"""Argument and result codecs, and validation: what a value is, in a form that survives the pause.

`Parameters` reads a function and binds, validates, stores and restores its arguments; `codec_for` gives the codec of
one annotation; results and exceptions have functions of their own. `shape_of` makes data of a codec, by which
`plain_to_tree` and `revise` encode what people write where the tool's code is not at hand. The encoding itself is
described in `tags`. Pure: no I/O, no threads, no clock.
"""

from interlock.schema.annotations import codec_for
from interlock.schema.codecs import Codec
from interlock.schema.errors import SchemaError
from interlock.schema.failures import decode_exception, encode_exception
from interlock.schema.forms import tree_to_plain
from interlock.schema.hints import result_annotation
from interlock.schema.parameters import Parameters
from interlock.schema.plain import plain_to_tree
from interlock.schema.results import (
    decode_result,
    encode_result,
    is_opaque,
    refuse_streams,
    storable_reason,
)
from interlock.schema.revise import revise
from interlock.schema.shapes import shape_of
from interlock.schema.spill import SPILL_LIMIT, fill, spill
from interlock.schema.tags import ENCODING_VERSION, MAX_DEPTH, TAG, Json, SecretRef

__all__ = [
    "ENCODING_VERSION",
    "MAX_DEPTH",
    "SPILL_LIMIT",
    "TAG",
    "Codec",
    "Json",
    "Parameters",
    "SchemaError",
    "SecretRef",
    "codec_for",
    "decode_exception",
    "decode_result",
    "encode_exception",
    "encode_result",
    "fill",
    "is_opaque",
    "plain_to_tree",
    "refuse_streams",
    "result_annotation",
    "revise",
    "shape_of",
    "spill",
    "storable_reason",
    "tree_to_plain",
]
