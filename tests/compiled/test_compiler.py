"""What the process that compiles a kernel file does besides: imports, and sections of cubins."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from twill.compiled import compiler
from twill.compiled.compiler import _sections, _targets, _without_lines, imported


def elf(**sections: bytes) -> bytes:
    """Return an ELF file with sections; an underscore in a name is a point."""
    names = [f".{name.replace('_', '.')}".encode() for name in sections]
    table = b"".join(name + b"\0" for name in [*names, b".shstrtab"])
    parts, headers, place, begin = [*sections.values(), table], b"", 0, 64
    for name, part in zip([*names, b".shstrtab"], parts, strict=True):
        headers += struct.pack("<IIQQQQ24x", place, 1, 0, 0, begin, len(part))
        place, begin = place + len(name) + 1, begin + len(part)
    front = bytearray(64)
    struct.pack_into("<Q", front, 40, begin)
    struct.pack_into("<HHH", front, 58, 64, len(parts), len(parts) - 1)
    return bytes(front) + b"".join(parts) + headers


def test_machine_code_is_compared_without_lines_of_source() -> None:
    one = elf(text_k=b"code", debug_line=b"1", nv_constant2_k=struct.pack("<II", 16, 32))
    lines = elf(text_k=b"code", debug_line=b"22", nv_constant2_k=struct.pack("<II", 16, 32))
    other = elf(text_k=b"cod3", debug_line=b"1", nv_constant2_k=struct.pack("<II", 16, 32))
    ours, same, changed = map(_sections, (one, lines, other))
    assert ours[".text.k"] == b"code"
    assert ours != same
    assert _without_lines(ours) == _without_lines(same) != _without_lines(changed)
    assert _targets(ours) == [16, 32]
    assert _targets({}) == []


def test_an_emitted_file_is_imported_without_what_its_host_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heavy.py").write_text("raise RuntimeError('was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compiler, "HOST", ("heavy",))
    (tmp_path / "kernel.py").write_text("import heavy\nKERNEL = 'kernel'\n")
    assert imported(str(tmp_path / "kernel.py"), emitted=True).KERNEL == "kernel"
    assert "heavy" not in sys.modules
    with pytest.raises(RuntimeError, match="was imported"):
        imported(str(tmp_path / "kernel.py"))
