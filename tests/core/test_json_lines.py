"""Lines that grow while something runs: a last one that was cut costs itself, and nothing else is touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.json_lines import json_lines_so_far, open_json_lines, read_json_lines

LINES = [{"head": 1}, {"number": 0, "text": "ä\u2028"}, [1, 2]]
WHOLE = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in LINES)


@given(cut=st.integers(len(b'{"head": 1}'), len(WHOLE)))
def test_a_file_that_was_cut_anywhere_goes_on_behind_its_last_whole_line(cut: int, tmp_path_factory: object) -> None:
    file = tmp_path_factory.mktemp("lines") / "log"  # type: ignore[attr-defined]
    file.write_bytes(WHOLE[:cut])
    found = read_json_lines(file)
    assert found == LINES[: WHOLE[: cut + 1].count(b"\n")], "a line that lacks only its end is whole"
    assert file.read_bytes() == WHOLE[:cut], "reading changes nothing: the file may be somebody else's"
    with open_json_lines(file) as more:
        more.write('{"more": 1}\n')
    assert read_json_lines(file) == [*found, {"more": 1}]


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"a": 1}\nno json\n{}\n', b"\xff\n", b'{"a": 1}\n\n', b"[" * 100_000 + b"\n"]
)
def test_what_is_damaged_elsewhere_is_refused_and_kept(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(data)
    with pytest.raises(ValueError):
        read_json_lines(file)
    assert file.read_bytes() == data


def test_a_log_that_has_hardly_begun_has_no_lines_so_far(tmp_path: Path) -> None:
    file = tmp_path / "log"
    assert json_lines_so_far(file) == [] and not file.exists()
    for data, found in ((b"", []), (b'{"a', []), (b'{"a": 1}\n{"b', [{"a": 1}])):
        file.write_bytes(data)
        assert json_lines_so_far(file) == found
        open_json_lines(file).close()
        assert file.read_bytes() == data[: data.rfind(b"\n") + 1]
    file.write_bytes(b"no json\n")
    with pytest.raises(ValueError):
        json_lines_so_far(file)
