"""Hundreds of wrong calls of the command line: each ends with a code and one line that says why, and no record is told."""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import pytest

from hush.app.commands import COMMANDS
from hush.app.main import main, parser
from tests.app.test_hostile_score_files import shaped

CALLS = 300
CELL = "7731904.25"
"""Stands in every file of records, and in no message."""
VALUES = (
    *(
        "",
        "abc",
        "-1",
        "0",
        "nan",
        "inf",
        "1e400",
        "9" * 5000,
        "0/0",
        "1_0",
        "٣",
        "\0",
        "--",
        "-",
        "1e18",
        "true",
    ),
    *("[]", "a=b", "=", "'", "x" * 20_000, "poisson", "laplace ?", "gaussian 1 | repeat 1e18", "gaussian 1 |", "; ;"),
)
RIGHT = {
    "epsilon": ["laplace 1", "--delta", "1e-5"],
    "delta": ["laplace 1", "--epsilon", "1"],
    "tradeoff": ["laplace 1", "--fpr", "0.1"],
    "explain": ["laplace 1", "--delta", "1e-5"],
    "statement": ["laplace 1", "--delta", "1e-5", "--style", "methods"],
    "calibrate": ["laplace ?", "--epsilon", "1", "--delta", "0"],
    "compare": ["--noise", "2", "--steps", "3", "--epochs", "1", "--delta", "1e-5"],
    "compose": ["laplace 1", "--delta", "1e-5"],
    "iterate": ["--smoothness", "1", "--noise", "1", "--step-size", "0.1", "--delta", "1e-5"],
    "plan": ["mean", "--population", "101", "--bounds", "0", "10", "--epsilon", "1"],
    "release": ["mean", "records.csv", "--column", "income", "--bounds", "0", "2000", "--epsilon", "1"],
    "ledger": ["record", "text.db", "laplace 1", "--dataset", "x"],
    "audit": ["scores", "records.csv", "--score-column", "income", "--claim", "gdp 1"],
    "chart": ["roc", "laplace 1", "--out", "a.svg"],
    "completion": ["bash"],
    "words": [],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of records, and files that are none."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{CELL},{'yes' if k % 2 else 'no'},{k}\n" for k in range(20))
    for name, content in {
        "records.csv": f"income,member,id\n{rows}",
        "texts.csv": f"income,member,id\n{rows.replace('25,', '25x,')}",
        "empty.csv": "",
        "head.csv": "income",
        "rows.csv": f'income,member\n1,2,3,{CELL}\n"4\n',
        "text.db": CELL,
        "text.npz": CELL,
        "text.parquet": CELL,
    }.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("bytes.csv").write_bytes(f"income,member\n{CELL}\0,1\n".encode() + bytes(range(256)))
    Path("large.npz").write_bytes(shaped("<f8", "(1000000000000,)"))
    Path("folder.csv").mkdir()


def options(command: str) -> list[str]:
    """Every option of a command and of the commands below it."""

    def below(one: argparse.ArgumentParser) -> list[str]:
        found = [word for action in one._actions for word in action.option_strings]
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += [word for inner in action.choices.values() for word in below(inner)]
        return found

    (commands,) = [one for one in parser([command])._actions if isinstance(one, argparse._SubParsersAction)]
    return sorted(set(below(commands.choices[command])) - {"-h", "--help"})


def wrong(draw: random.Random, command: str) -> list[str]:
    """A right call with some of its words changed, dropped or added."""
    words, files = list(RIGHT[command]), [*map(str, Path().iterdir()), "missing.csv", "/", "/dev/null", "a\0b"]
    for _ in range(draw.choice((1, 1, 2, 3))):
        way, place = draw.random(), draw.randrange(len(words) + 1)
        if way < 0.3:
            words += [draw.choice([*options(command), "--nonsense"]), draw.choice(VALUES)]
        elif way < 0.4:
            words.insert(place, draw.choice(VALUES))
        elif words[place:]:
            words[place : place + 1] = [] if way < 0.5 else [draw.choice((*VALUES, *files))]
    return [command, *words, *(["--json"] if draw.random() < 0.4 else [])]


def test_every_command_is_tried() -> None:
    assert set(RIGHT) == set(COMMANDS) - {"app", "figures"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_wrong_calls_end_in_one_line(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    draw, refused = random.Random(seed), 0
    for _ in range(CALLS // 3):
        words = wrong(draw, draw.choice(list(RIGHT)))
        code = main(words)
        said = capsys.readouterr().err
        assert CELL not in said, words
        if code in (0, 4):
            continue
        refused += 1
        if "--json" in words:
            assert json.loads(said)["code"] == code, words
        else:
            assert said.startswith("hush: error: ") and said.count("\n") == 1, (words, said)
    assert refused > CALLS / 4


def test_a_file_that_is_too_large_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "scores", "large.npz"]) == 2
    assert capsys.readouterr().err == "hush: error: this takes more memory than there is\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_errors_of_every_command_are_json_where_json_is_asked_for(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ([command, "--nonsense", "--json"], ["--json", command], [command, "--json", "x", "y", "z"]):
        code = main(words)
        assert code == json.loads(capsys.readouterr().err)["code"] == 2
