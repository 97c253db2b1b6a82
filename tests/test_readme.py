"""The README's Python blocks run, in order, in one namespace; a comment `# value` beside an expression is its value."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"#\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)(\.\.\.)?\b")


def blocks() -> list[str]:
    return BLOCK.findall(README.read_text(encoding="utf-8")) if README.exists() else []


@pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")
def test_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    found = blocks()
    assert found, "a README without an example"
    for number, block in enumerate(found, 1):
        code = compile(block, f"README.md, python block {number}", "exec")
        exec(code, namespace)
    capsys.readouterr()


@pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")
def test_numbers_in_comments() -> None:
    """`expression  # 6.18771` : the expression (or its upper end) has these digits."""
    namespace: dict[str, object] = {}
    for block in blocks():
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            source = ast.get_source_segment(block, statement) or ""
            comment = NUMBER.search(lines[(statement.end_lineno or 1) - 1].removeprefix(source.splitlines()[-1]))
            if isinstance(statement, ast.Expr) and comment and not source.startswith("print"):
                value = eval(compile(ast.Expression(statement.value), "README.md", "eval"), namespace)
                shown = float(getattr(value, "upper", value))  # type: ignore[arg-type]
                expected = comment.group(1)
                digits = len(expected.lstrip("-0.").split("e")[0].replace(".", ""))
                assert shown == pytest.approx(float(expected), rel=10.0 ** (1 - digits)), source
            else:
                exec(compile(ast.Module([statement], []), "README.md", "exec"), namespace)
