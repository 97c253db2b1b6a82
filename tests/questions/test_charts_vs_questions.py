"""Charts draw what the questions answer: lines, bands, labels, files."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest

import hush
from hush.documents.sampled_noise import overall, renyi_curves
from hush.questions.charts import rendering
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Idea, Stroke

STEP = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01))
SMALL = Chart(
    "A title",
    "parameters",
    Axis("x", log=True),
    Axis("y", log=True),
    (ChartLine("a", (1.0, 10.0), (0.1, 2.0), (0.05, 1.0)),),
)


def test_steps_are_epsilons() -> None:
    line = hush.chart.steps({"DP-SGD": STEP}, delta=1e-5, steps=[10, 1000]).line("DP-SGD")
    for k, high, low in zip(line.x, line.y, line.other, strict=True):
        bound = STEP.repeat(int(k)).epsilon(delta=1e-5)
        assert low <= bound.upper
        assert bound.lower <= high
        assert high - low <= 1e-3 * high


def test_profile_is_delta() -> None:
    line = hush.chart.profile(hush.Laplace(1.0), epsilons=[0.0, 0.5, 0.9, 2.0]).lines[0]
    assert line.y == pytest.approx([max(0.0, -math.expm1((e - 1) / 2)) for e in line.x], rel=1e-3)


def test_renyi_band_holds_the_closed_form() -> None:
    line = hush.chart.renyi(hush.Gaussian(2.0)).lines[0]
    for order, high, low in zip(line.x, line.y, line.other, strict=True):
        assert low <= order / 8 * (1 + 1e-12)
        assert order / 8 <= high * (1 + 1e-12)
        assert high - low < 1e-6


def test_roc_mirrors_the_tradeoff() -> None:
    rates = [0.001, 0.1]
    errors = hush.chart.tradeoff(STEP, false_positive_rates=rates).lines[0]
    found = hush.chart.roc(STEP, false_positive_rates=rates).lines[0]
    assert found.y[1] == pytest.approx(1 - errors.y[1], rel=1e-3)
    assert all(y >= other for y, other in zip(found.y, found.other, strict=True))


def test_upper_bounds_alone_are_labelled_so() -> None:
    line = hush.chart.steps({"stated": hush.ZCDP(0.1)}, delta=1e-5, steps=[1, 10]).lines[0]
    assert line.label == "stated (upper bound only)"
    assert line.other == ()


def test_what_has_only_a_curve_is_drawn_from_it() -> None:
    line = hush.chart.tradeoff({"stated": hush.ZCDP(0.1)}, false_positive_rates=[0.0, 0.1]).lines[0]
    assert line.label == "stated (from its Rényi curve)"
    assert line.other == ()
    # Gaussian noise of the same curve does no better for the attacker than the curve allows
    assert line.y[1] <= hush.Gaussian(math.sqrt(5.0)).tradeoff(false_positive_rate=0.1).upper


def test_relation_and_mechanism_are_in_the_subtitle() -> None:
    chart = hush.chart.renyi(STEP, orders=[2])
    assert "multiplier 1" in chart.subtitle
    assert "add or remove one record" in chart.subtitle


def test_mixed_relations_are_told_apart() -> None:
    answer = hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.REPLACE)
    labels = [line.label for line in hush.chart.renyi({"a": hush.Laplace(1.0), "b": answer}, orders=[2]).lines]
    assert labels == ["a; add or remove one record", "b; replace one record"]


@pytest.mark.parametrize("bad", [[], {}, [1], {"a": None}])
def test_only_mechanisms_are_drawn(bad: object) -> None:
    with pytest.raises(hush.InvalidParameter):
        hush.chart.profile(bad)  # type: ignore[arg-type]


def test_what_has_no_place_on_an_axis_is_left_out() -> None:
    lines = (ChartLine("a", (1.0, 2.0, 3.0, 4.0), (1.0, 0.0, math.inf, 2.0), (0.5, 0.0, 1.0, 0.0)),)
    rows = Chart("t", "s", Axis("x"), Axis("y", log=True), lines).rows()
    assert rows == [{"label": "a", "x": 1.0, "y": 1.0, "other": 0.5}, {"label": "a", "x": 4.0, "y": 2.0}]


def test_lines_need_as_many_x_as_y() -> None:
    with pytest.raises(hush.InvalidParameter, match="as many x as y"):
        ChartLine("a", (1.0,), ())


@pytest.mark.parametrize("ends", [(1.0, 1e5), (3e-9, 2.0), (0.31, 0.9), (1.0, 40.0)])
def test_log_ticks_are_few_and_inside(ends: tuple[float, float]) -> None:
    ticks = rendering.log_ticks(*ends)
    assert 2 <= len(ticks) <= 10
    assert all(ends[0] <= tick * (1 + 1e-9) and tick <= ends[1] * (1 + 1e-9) for tick in ticks)


def test_files_of_every_format(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    svg = SMALL.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "A title" in svg
    assert "parameters" in svg
    assert SMALL.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    page = SMALL.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page), "a page that works offline loads nothing"
    assert "cdn" not in page.lower()


def test_heavy_lines_are_wide_and_strokes_differ() -> None:
    pytest.importorskip("altair")
    lines = tuple(ChartLine(stroke.name, (1.0, 2.0), (1.0, 2.0), stroke=stroke) for stroke in Stroke)
    drawn = Chart("t", "s", Axis("x"), Axis("y"), lines).altair().to_dict()
    encoding = drawn["layer"][0]["encoding"]
    assert max(encoding["strokeWidth"]["scale"]["range"]) > 2 * min(encoding["strokeWidth"]["scale"]["range"])
    assert len(set(encoding["color"]["scale"]["range"])) == len(lines)
    assert json.dumps(drawn)


def test_other_names_of_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hush.InvalidParameter, match=".svg, .png, .html"):
        SMALL.save(tmp_path / "a.pdf")


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_missing_packages_are_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setitem(sys.modules, package, None)

    if package == "vl_convert":
        pytest.importorskip("altair")
    with pytest.raises(hush.NotInstalled, match=re.escape(f"{package}: pip install 'hush-dp[app]'")):
        SMALL.save(tmp_path / "a.svg")


def test_one_colour_per_idea_in_all_figures() -> None:
    """A reader who learns a colour in one figure can trust it in the next."""
    seen: dict[str, set[object]] = {}
    theorems = hush.compositions(hush.Laplace(10.0), times=[1, 10], delta=1e-6).chart()
    for chart in (renyi_curves(hush.Gaussian(5.0)), overall(hush.Laplace(2.0), (1, 100)), theorems):
        for line in chart.lines:
            assert line.idea is not None, line.label
            word = next(
                (w for w in ("zCDP", "tCDP", "exact", "advanced", "general", "improved") if w in line.label), ""
            )
            seen.setdefault(word, set()).add(line.idea)
    assert all(len(ideas) == 1 for word, ideas in seen.items() if word)
    assert len({idea.value for idea in Idea}) == len(Idea)


def test_no_line_leaves_the_frame() -> None:
    for noise in (hush.Gaussian(0.5), hush.Laplace(2.0)):
        for figure in (renyi_curves(noise), overall(noise, (1, 100, 10_000))):
            low, high = figure.y.domain or (0.0, 0.0)
            shown = [row["y"] for row in figure.rows()]
            assert low < min(shown) and max(shown) < high, figure.title


def test_measured_points_are_marked() -> None:
    pytest.importorskip("altair")
    plan = hush.train_plan(examples=100, batch_size=10, epochs=3, noise_multiplier=1.0, delta=1e-3)
    shuffled = hush.train_plan(
        examples=105, batch_size=10, epochs=3, noise_multiplier=1.0, delta=1e-3, scheme=hush.ShuffledBatches
    )
    drawn = plan.chart(shuffled)
    assert [line.x for line in drawn.lines] == [(1.0, 2.0, 3.0)] * 2
    for line, one in zip(drawn.lines, (plan, shuffled), strict=True):
        assert line.y[-1] == pytest.approx(one.epsilon, rel=1e-3)
    assert drawn.lines[1].y[0] == pytest.approx(
        shuffled.first(shuffled.epoch_steps).epsilon(delta=1e-3).upper, rel=1e-3
    )
    marks = [layer["mark"]["type"] for layer in drawn.altair().to_dict()["layer"]]
    assert "point" in marks and all(row["measured"] for row in drawn.rows())
    with pytest.raises(hush.InvalidParameter, match="one delta"):
        plan.chart(hush.train_plan(examples=100, batch_size=10, epochs=3, noise_multiplier=1.0, delta=1e-4))
