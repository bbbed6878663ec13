"""`parity.yaml`: what a bundle's graphs were compared with, how far each output was off, and on which machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.machine import machine, versions
from tendon.core.yaml_text import parse_yaml
from tendon.policies.parity.graph import CASES_FILE, Case, Row, write_cases

RECEIPT_FILE = "parity.yaml"


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """All of `parity.yaml`.

    Attributes:
        source: in words, what computed the answers that the graphs were compared with.
        rows: of each output.
        machine: and versions, that they were measured with; plain values.
    """

    source: str
    rows: tuple[Row, ...]
    machine: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """Whether every row is within its bound."""
        return all(row.passed for row in self.rows)


def receipt_here(source: str, rows: Sequence[Row]) -> Receipt:
    """Returns the receipt of rows that were measured on this machine."""
    return Receipt(source=source, rows=tuple(rows), machine={**machine(), "versions": versions()})


def receipt_files(receipt: Receipt, cases: Iterable[Case]) -> dict[str, bytes]:
    """Returns the two files that a bundle keeps of its parity, by name: the receipt and the inferences."""
    return {RECEIPT_FILE: write_receipt(receipt), CASES_FILE: write_cases(cases)}


def write_receipt(receipt: Receipt) -> bytes:
    """Returns the content of `parity.yaml`."""
    rows = [asdict(row) for row in receipt.rows]
    for row in rows:
        row |= {key: float(f"{row[key]:.4g}") for key in ("max_abs", "relative")} | {"cosine": round(row["cosine"], 9)}
    values = {"source": receipt.source, "machine": dict(receipt.machine), "rows": rows}
    return yaml.safe_dump(values, sort_keys=False).encode("utf-8")


def read_receipt(data: bytes) -> Receipt:
    """Returns the receipt in `parity.yaml`.

    Raises:
        ConfigError: it is malformed.
    """
    raw = parse_yaml(data, RECEIPT_FILE)
    if not isinstance(raw, dict) or not isinstance(raw.get("rows"), list):
        raise ConfigError(f"{RECEIPT_FILE} must hold source, machine and rows")
    rows = tuple(build(Row, f"{RECEIPT_FILE} rows[{k}]", row) for k, row in enumerate(raw["rows"]))
    return build(Receipt, RECEIPT_FILE, {**raw, "rows": rows})
