"""YAML as every file of Tendon is read: what is wrong is one line, and a key that stands twice is wrong."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from tendon.core.errors import ConfigError


class _Loader(yaml.SafeLoader):
    """PyYAML's own takes the last of two equal keys: a limit that is set again further below would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Returns a mapping, none of whose keys stands twice."""
        seen = set[str]()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name and name in seen:
                raise yaml.constructor.ConstructorError(problem=f"{name} stands twice", problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str | bytes, where: str) -> Any:
    """Returns what YAML holds: plain values, lists and dictionaries.

    Args:
        text: the YAML; bytes are UTF-8.
        where: what the error message calls it, such as the path of its file.

    Raises:
        ConfigError: it is not YAML, or a key of a mapping stands twice.
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return yaml.load(decoded, Loader=_Loader)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where} is not YAML: byte {error.start} is no UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{where} is not YAML: {error.problem or error.context}{place}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-02-30
        raise ConfigError(f"{where} is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ConfigError(f"{where} is not YAML: it is nested too deeply") from error
