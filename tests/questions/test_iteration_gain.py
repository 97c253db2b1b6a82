"""Who gains from releasing the last iterate only, in one call and on the command line."""

from __future__ import annotations

import json
import math

import pytest

import hush
from hush import InvalidParameter
from hush.app.main import main

LOSS = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.0, lipschitz=1.0)
CURVED = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.1, sensitivity=2.0)
SHARED = ["--noise", "0.5", "--step-size", "0.1", "--smoothness", "1", "--lipschitz", "1", "--delta", "1e-6"]


def descent(**given: object) -> hush.NoisyGradientDescent:
    chosen = {"loss": LOSS, "records": 100, "iterations": 5000, "noise": 0.5, "step_size": 0.1, "diameter": 1.0} | given
    return hush.NoisyGradientDescent(**chosen)  # type: ignore[arg-type]


def test_projected_descent_gains_once_the_diameter_counts() -> None:
    """4 LD/(n eta sigma^2) < 2 t L^2/(n sigma)^2 from t = 2 D n/(eta L) = 2000 on."""
    run = descent()
    gain = hush.iteration_gain(run, delta=1e-6)
    assert gain.gains_from == 2001
    before, after = run.after(2000), run.after(2001)
    assert before.mu()[1] == pytest.approx(before.composed_mu(), rel=1e-9)
    assert after.mu()[1] < after.composed_mu() * (1 - 1e-6)
    assert gain.everyone.last_iterate == run.epsilon(delta=1e-6).upper
    assert gain.everyone.factor > 1.5
    assert [row.place for row in gain.rows] == [1, 10, 100, 1000, 5000]


def test_convex_without_projection_never_gains() -> None:
    gain = hush.iteration_gain(descent(diameter=math.inf), delta=1e-6)
    assert gain.gains_from is None
    assert all(row.factor == 1 for row in gain.rows)
    assert "No gain" in str(gain)


def test_strongly_convex_gains_from_the_second_step() -> None:
    assert hush.iteration_gain(descent(loss=CURVED, diameter=math.inf), delta=1e-6).gains_from == 2


def test_cyclic_gains_from_the_second_epoch() -> None:
    run = hush.CyclicGradientDescent(
        loss=LOSS, batches=5, batch_size=20, epochs=30, noise=0.5, step_size=0.1, diameter=math.inf
    )
    gain = hush.iteration_gain(run, delta=1e-6)
    assert (gain.unit, gain.gains_from) == ("epoch", 2)


def test_a_pass_helps_everyone_but_the_last() -> None:
    run = hush.OnePassGradientDescent(loss=LOSS, records=200, noise=4.0, step_size=1.0)
    gain = hush.iteration_gain(run, delta=1e-6)
    assert [row.place for row in gain.rows] == [1, 10, 100, 101, 191, 200]
    assert gain.rows[0].factor > 10
    assert gain.rows[-1].factor == gain.everyone.factor == 1
    assert gain.everyone.last_iterate == max(row.last_iterate for row in gain.rows)
    assert "no gain for everyone" in gain.summary
    stopped = hush.iteration_gain(run.stopped_at_random(), delta=1e-6)
    assert stopped.everyone.factor > 1.3


def test_schedule_gains_from_the_step_where_noise_hides_an_earlier_difference() -> None:
    run = hush.NoisyIteration(sensitivities=[1, 2, 3, 1, 0], deviations=1, contractions=1)
    assert hush.iteration_gain(run, delta=1e-6).gains_from == 4


def test_other_mechanisms_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="mechanism"):
        hush.iteration_gain(hush.Gaussian(1.0), delta=1e-6)
    with pytest.raises(InvalidParameter, match="delta"):
        hush.iteration_gain(descent(), delta=1.5)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--records", "100", "--steps", "5000", "--diameter", "1"], "NoisyGradientDescent"),
        (["--batches", "10", "--batch-size", "50", "--epochs", "3"], "CyclicGradientDescent"),
        (["--records", "100"], "OnePassGradientDescent"),
        (["--records", "100", "--random-stop"], "RandomStop"),
    ],
)
def test_command_line(capsys: pytest.CaptureFixture[str], words: list[str], kind: str) -> None:
    assert main(["iterate", *words, *SHARED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mechanism"]["mechanism"]["kind"] == kind
    mechanism = hush.from_json(json.dumps(found["mechanism"]))
    assert found["everyone"]["last_iterate"] == mechanism.epsilon(delta=1e-6).upper
    assert found["relation"] == "replace"
    assert main(["iterate", *words, *SHARED]) == 0
    assert "everyone" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["--records", "100", "--steps", "50", "--epochs", "3"], 2, "epochs"),
        ([], 2, "got none of them"),
        (["--records", "100", "--steps", "50", "--step-size", "2.5"], 2, "got --step-size 2.5"),
        (["--records", "100", "--steps", "2.5"], 2, "got --steps 2.5"),
        (["--records", "100", "--steps", "50", "--rate", "0.1"], 3, "Altschuler"),
    ],
)
def test_command_line_errors(capsys: pytest.CaptureFixture[str], words: list[str], code: int, named: str) -> None:
    assert main(["iterate", *SHARED, *words]) == code
    error = capsys.readouterr().err
    assert named in error
    assert len(error.splitlines()) == 1
