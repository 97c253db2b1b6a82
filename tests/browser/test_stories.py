"""Twelve stories, from opening the page to exported code, each with a picture; numbers are those of the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.app.expression import parse
from hush.app.main import main
from hush.numerics.decimals import rounded_up
from tests.browser.conftest import go, settle
from tests.page_server import Served

pytestmark = pytest.mark.browser
RUN = "gaussian 1.0 | poisson 0.004266666666666667 | repeat 2344"


def epsilon(page: Any, card: int = 1) -> str:
    """The number that stands on a card, once it stands still."""
    settle(page)
    return page.locator(f"article:nth-of-type({card}) output.value").inner_text()


def shown(expression: str, delta: float = 1e-5) -> str:
    return rounded_up(parse(expression).epsilon(delta=delta).upper, 4)


def until(page: Any, expected: str, card: int = 1) -> None:
    """Until a card shows this number."""
    page.wait_for_function(
        "([card, expected]) => document.querySelector(`article:nth-of-type(${card}) output.value`)?.textContent === expected",
        arg=[card, expected],
    )


def test_1_opening_shows_the_number_of_the_command_line(opened: Any, server: Served, shot: Any, capsys: Any) -> None:
    page = opened()
    assert main(["epsilon", RUN, "--delta", "1e-5", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert epsilon(page) == rounded_up(printed["upper"], 4)
    assert f"to {rounded_up(printed['upper'], 7)}" in page.locator(".facts").inner_text()
    assert page.locator("textarea").input_value() == RUN
    assert server.token not in page.url
    page.wait_for_function("() => document.getElementById('said').textContent.includes('epsilon at most')")
    shot(page)


def test_2_a_slider_that_moves_asks_one_question_at_a_time(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    flying, most = set(), [0]

    def left(request: Any) -> None:
        if request.url.endswith("/ask"):
            flying.add(request)
            most[0] = max(most[0], len(flying))

    page.on("request", left)
    page.on("requestfinished", lambda request: flying.discard(request))
    page.on("requestfailed", lambda request: flying.discard(request))
    moved = """(range) => { for (let step = 0; step < 40; step += 1) {
        range.value = Number(range.min) + (Number(range.max) - Number(range.min)) * (step + 10) / 80;
        range.dispatchEvent(new Event("input")); } }"""
    for _ in range(5):
        page.get_by_label("Noise multiplier, slider").evaluate(moved)
    settle(page)
    noise = float(page.get_by_label("Noise multiplier", exact=True).input_value())
    until(page, shown(RUN.replace("1.0", repr(noise))))
    assert most[0] <= 2  # one that was given up may still be on the list of the browser
    page.get_by_label("δ: the chance that the promise fails", exact=True).fill("1e-7")
    until(page, shown(RUN.replace("1.0", repr(noise)), 1e-7))
    shot(page)


def test_3_which_noise_for_this_epsilon(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    page.get_by_role("button", name="Find it").click()
    page.wait_for_selector(".found")
    until(page, "2")
    best = hush.train_plan(examples=60_000, batch_size=256, epochs=10, epsilon=2.0, delta=1e-5).noise_multiplier
    assert rounded_up(best, 6) in page.locator(".found").inner_text()
    assert float(page.get_by_label("Noise multiplier", exact=True).input_value()) == pytest.approx(best, rel=1e-11)
    page.fill("textarea", "laplace 3; gaussian 9 | poisson 0.1 | repeat 20")
    page.wait_for_selector(".releases")
    page.get_by_label("ε that is wanted").fill("1")
    page.get_by_role("button", name="Find it").click()
    until(page, "1")
    assert parse(page.locator("textarea").input_value()).epsilon(delta=1e-5).upper <= 1
    shot(page)


def test_4_forms_and_expression_are_kept_in_step(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    page.fill("textarea", "gaussian 2 | allocation 100 | repeat 5")
    page.wait_for_function("() => document.querySelector('.form .grid select')?.value === 'allocation'")
    assert page.get_by_label("Epochs", exact=True).input_value() == "5"
    assert page.get_by_label("Batch size", exact=True).input_value() == "600"
    page.get_by_label("Epochs", exact=True).fill("3")
    page.wait_for_function(
        "() => document.querySelector('textarea').value === 'gaussian 2.0 | allocation 100 | repeat 3'"
    )
    page.fill("textarea", "laplace 10; kary-response 2 3 | shuffled 500")
    page.wait_for_selector(".releases > li:nth-of-type(2)")
    page.get_by_label("Release 1: laplace scale").fill("5")
    page.wait_for_function("() => document.querySelector('textarea').value.startsWith('laplace 5;')")
    page.get_by_role("button", name="Add a release").click()
    page.get_by_label("Release 3", exact=True).select_option("gaussian")
    page.get_by_label("Release 3: gaussian noise multiplier").fill("4")
    said = "laplace 5; kary-response 2 3 | shuffled 500; gaussian 4"
    page.wait_for_function("(said) => document.querySelector('textarea').value === said", arg=said)
    page.fill("textarea", "laplace 5; gaussian 4 | replace")
    page.wait_for_selector(".result .problem")  # two relations are not mixed
    page.fill("textarea", "laplace 5; gaussian 4")
    until(page, shown("laplace 5; gaussian 4"))
    shot(page)


def test_5_runs_side_by_side(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    for place, scheme in ((2, "shuffled-batches"), (3, "allocation")):
        page.get_by_role("button", name="Add a run to compare").click()
        page.locator(f"article:nth-of-type({place})").get_by_label("How batches are drawn").select_option(scheme)
    until(page, shown(RUN), 1)
    until(page, shown("gaussian 1 | shuffled-batches 234 | repeat 10"), 2)
    until(page, shown("gaussian 1 | allocation 234 | repeat 10"), 3)
    shot(page)
    page.locator("article:nth-of-type(2)").get_by_role("button", name="Remove").click()
    page.wait_for_function("() => document.querySelectorAll('article').length === 2")


def canaries(path: Path) -> Path:
    draw = np.random.default_rng(7)
    members = draw.integers(0, 2, 2000)
    rows = zip(draw.normal(1.2 * members), members, strict=True)
    path.write_text("score,member\n" + "".join(f"{score},{member}\n" for score, member in rows), encoding="utf-8")
    return path


def test_6_the_attackers_curve_and_an_audit_inside_it(opened: Any, shot: Any, tmp_path: Path) -> None:
    page = opened()
    epsilon(page)
    go(page, "pictures")
    best = hush.Gaussian(1.0).on(hush.Poisson(rate=256 / 60_000)).repeat(2344).roc()
    percent = f"{rounded_up(100 * best.true_positive_rate(0.01).upper, 3)}%"
    assert percent in page.locator(".picture").first.locator("table").first.inner_text()
    page.set_input_files("input[type=file]", canaries(tmp_path / "<img src=x onerror=alert(1)>.csv"))
    page.wait_for_selector("#audit pre")
    told = page.locator("#audit").inner_text()
    assert "REFUTED" in told
    (headline,), (printed,) = re.findall(r"at least ([\d.]+) with", told), re.findall(r"epsilon >= ([\d.]+) ", told)
    assert headline == printed  # a bound from below, rounded down
    settle(page)
    page.wait_for_function("() => document.querySelector('#roc .legend')?.textContent.includes('proven of it')")
    shot(page)
    (tmp_path / "bad.csv").write_text("score,member\n<script>,1\n", encoding="utf-8")
    page.set_input_files("input[type=file]", tmp_path / "bad.csv")
    page.wait_for_selector(".drop .problem")


def test_7_how_sure_an_attacker_becomes(opened: Any, shot: Any) -> None:
    page = opened("view=pictures&delta=1e-6&name=One&run=gaussian+1&form=")
    settle(page)
    attacker = hush.auditing.Attacker(hush.Gaussian(1.0))
    page.get_by_label("Sure before (prior)", exact=True).fill("0.1")
    expected = f"{rounded_up(100 * attacker.posterior(prior=0.1, false_positive_rate=0.01), 3)}%"
    page.wait_for_function(
        "(text) => document.querySelector('.read').textContent.includes(text)", arg=f"from 10% to at most {expected}"
    )
    settle(page)
    shot(page)


def test_8_shuffling_is_not_poisson_sampling(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    go(page, "pictures")
    found = hush.compare_schemes(noise_multiplier=1.0, steps=234, epochs=10, delta=1e-5)
    assert page.locator(".mistake").inner_text() == found.mistake
    assert {"Poisson", "shuffled batches", "random allocation"} <= set(
        page.locator("#schemes .legend li").all_inner_texts()
    )
    page.locator("#schemes summary").click()
    upper = found["shuffled batches"].bound.upper
    assert f"{float(f'{upper:.6g}'):g}"[:5] in page.locator("#schemes table").inner_text()
    shot(page)


def test_9_routes_and_what_if(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    go(page, "pictures")
    assert {"contour", "grid", "Rényi", "CLT"} <= set(page.locator("#renyi + div td:nth-of-type(2)").all_inner_texts())
    bars = dict(
        line.split("\n")[::2] if line.count("\n") > 1 else line.split("\n")
        for line in page.locator(".bars li").all_inner_texts()
    )
    assert bars["as it is"] == f"ε = {shown(RUN)}"
    assert bars["half the noise"] == f"ε = {shown(RUN.replace('1.0', '0.5'))}"
    shot(page)


def test_10_plans(opened: Any, shot: Any) -> None:
    page = opened("view=planner")
    settle(page)
    assert "sample" in page.locator(".advice").inner_text().lower()
    shot(page)
    page.get_by_text("A median", exact=True).click()
    page.wait_for_function("() => document.querySelector('h2').textContent.includes('median')")
    settle(page)
    assert "exponential mechanism" in page.locator("#plan .legend").inner_text()
    page.get_by_text("A training run", exact=True).click()
    page.wait_for_function("() => document.querySelector('h2').textContent.includes('Batch size')")
    settle(page)
    assert "Least noise on a gradient" in page.locator(".hints").inner_text()
    shot(page, "test_10_plans_of_a_training")


def test_11_a_budget_book(opened: Any, shot: Any) -> None:
    page = opened()
    epsilon(page)
    go(page, "ledger")
    assert page.locator("meter").count() == 2 and page.title() == "Ledger · hush"
    before = page.locator("tbody tr").count()
    page.get_by_label("A release, as an expression").fill("laplace 0.1")
    page.get_by_role("button", name="Ask for the price").click()
    page.wait_for_function("() => document.querySelector('main').textContent.includes('It does not fit')")
    page.get_by_label("A release, as an expression").fill("gaussian 40")
    page.get_by_label("Purpose, written into the book").fill("a table <b>of</b> incomes")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Enter it into the book").click()
    page.wait_for_function("(rows) => document.querySelectorAll('tbody tr').length === rows", arg=before + 1)
    assert "a table <b>of</b> incomes" in page.locator("tbody tr").first.inner_text()
    settle(page)
    shot(page)


def test_12_explained_exported_and_run(opened: Any, shot: Any, tmp_path: Path) -> None:
    page = opened()
    number = epsilon(page)
    go(page, "explain")
    page.get_by_label("What one record stands for").fill("patient")
    page.wait_for_function("() => document.getElementById('statement').textContent.includes('patient')")
    page.locator(".checklist input").first.check()
    page.get_by_role("button", name=re.compile("read in docs")).first.click()
    page.wait_for_selector("dialog[open] .cited")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy as Python").click()
    page.get_by_role("button", name="Copied").wait_for()
    code = page.evaluate("() => navigator.clipboard.readText()")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert rounded_up(float(ran.stdout), 4) == number
    assert float(ran.stdout) == parse(RUN).epsilon(delta=1e-5).upper
    command = page.locator("#command").inner_text()
    assert command == f"hush epsilon '{RUN}' --delta 1e-05"
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the report").click()
    saved.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (
        "☑ checked" in text and "☐ not checked" in text and "every single patient" in text and "image/svg+xml" in text
    )
    assert f"ε = {number} at δ" in text and "@media print" in text
    shot(page)
    link = page.locator("#link").inner_text()
    assert "token" not in link
    other = page.context.new_page()
    other.goto(link)
    other.wait_for_selector("#statement")
    assert "patient" in other.locator("#statement").inner_text() and other.locator("#command").inner_text() == command


def test_numbers_of_pictures_are_rounded_to_the_safe_side(opened: Any) -> None:
    page = opened()
    wrong = page.evaluate("""async () => { const { above, below } = await import("/dom.js"), wrong = [];
        for (let k = 0; k < 20000; k += 1) {
            const value = (Math.random() - 0.2) * 10 ** (Math.random() * 40 - 20), digits = 1 + k % 7;
            const [up, down] = [Number(above(value, digits)), Number(below(value, digits))];
            const step = 1.0001 * 10 ** (Math.floor(Math.log10(Math.abs(value))) - digits + 1);
            if (!(down <= value && value <= up && up - value <= step && value - down <= step)) wrong.push([value, digits]);
        }
        return wrong; }""")
    assert wrong == []
    epsilon(page)
    go(page, "pictures")
    page.locator("#schemes summary").click()
    page.wait_for_selector("#schemes tbody tr")
    cells = [row.split("\t") for row in page.locator("#schemes table tbody tr").all_inner_texts()]
    found = hush.compare_schemes(noise_multiplier=1.0, steps=234, epochs=10, delta=1e-5)
    for name in ("Poisson", "shuffled batches", "random allocation"):
        (shown,) = [float(row[2]) for row in cells if row[0] == name and float(row[1]) == 10]
        assert found[name].bound.upper <= shown <= found[name].bound.upper * (1 + 1e-5), name


def test_pictures_are_saved_as_files(opened: Any, tmp_path: Path) -> None:
    page = opened()
    epsilon(page)
    go(page, "pictures")
    for kind, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            page.locator("#roc").get_by_role("button", name=f"Save {kind}").click()
        saved.value.save_as(tmp_path / kind)
        content = (tmp_path / kind).read_bytes()
        assert content.startswith(begin) and len(content) > 5000
    assert "What the best attacker finds" in (tmp_path / "SVG").read_text(encoding="utf-8")
