"""The JSON schema of what YAML is read into, for editors: they complete keys, show meanings and mark mistakes."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union

from tendon.core.fields import Hint, field_hints, read_hint

_TYPES = {str: "string", Path: "string", float: "number", int: "integer", bool: "boolean"}


def schema_text(kind: type) -> str:
    """Returns the schema of a file that holds a dataclass, as JSON that ends in a newline."""
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#"} | json_schema(kind), indent=1) + "\n"


def json_schema(kind: type) -> dict[str, Any]:
    """Returns the schema of the mappings that `build` takes for a dataclass.

    What a value has to do with another one, or with a file beside it, only the loader knows.
    """
    meanings = field_meanings(kind)
    properties = {}
    for field in fields(kind):
        schema = _schema(field_hints(kind)[field.name])
        for rule in field.metadata.values():
            schema |= rule.json_schema
        if field.name in meanings:
            schema["description"] = meanings[field.name]
        if isinstance(field.default, str | int | float) and field.default != "":
            schema["default"] = field.default
        properties[field.name] = schema
    required = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    summary = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return {
        "type": "object",
        "description": " ".join(summary.split()),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def field_meanings(kind: type) -> dict[str, str]:
    """Returns what the source says of fields: in the text below each, or under "Attributes:" of the class."""
    (source,) = ast.parse(inspect.cleandoc(inspect.getsource(kind))).body
    assert isinstance(source, ast.ClassDef)
    found = {}
    attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2].split("\n\n")[0]
    for name, text in re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE):
        found[name] = " ".join(text.split())
    for field, text in pairwise(source.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return found


def _schema(hint: Hint) -> dict[str, Any]:
    kind, items = hint.kind, [read_hint(each) for each in hint.items if hint.origin is not Literal and each is not ...]
    schema: dict[str, Any] = {key: value for rule in hint.rules for key, value in rule.json_schema.items()}
    if is_dataclass(kind):
        schema = json_schema(kind)  # type: ignore[arg-type]
    elif hint.origin in (Union, UnionType):
        schema = {"anyOf": [_schema(each) for each in items]}
    elif hint.origin is Literal:
        schema = {"enum": list(hint.items)}
    elif hint.origin is Mapping:
        schema = {"type": "object", "additionalProperties": _schema(items[1])}
    elif hint.origin is tuple and hint.items[-1] is not ...:
        schema = {"type": "array", "items": _schema(items[0]), "minItems": len(items), "maxItems": len(items)}
    elif hint.origin is tuple:
        schema = {"type": "array", "items": _schema(items[0])} | schema
    elif kind in _TYPES:
        schema = {"type": _TYPES[kind]} | schema
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]} if hint.optional else schema
