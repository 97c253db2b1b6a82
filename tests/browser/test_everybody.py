"""The page for everybody, and against some: keyboard, screen readers, every width and colour; scripts and frames."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import go, settle
from tests.page_server import Served

pytestmark = pytest.mark.browser
VIEWS = ("calculator", "pictures", "planner", "ledger", "explain")
WORST = ("serious", "critical")
RUNS = urlencode(
    [
        *(("view", "calculator"), ("delta", "1e-5")),
        *(("name", "Poisson"), ("run", "gaussian 1"), ("form", '[60000,256,10,1,"poisson"]')),
        *(("name", "Two tables"), ("run", "laplace 10; gaussian 8 | poisson 0.1 | repeat 5"), ("form", "")),
    ]
)


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
@pytest.mark.parametrize("width", (1400, 400))
def test_every_view_is_whole_and_open_to_all(opened: Any, shot: Any, axe: str, width: int, dark: bool) -> None:
    page = opened(RUNS, width=width, dark=dark)
    for view in VIEWS:
        go(page, view)
        beyond = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert beyond <= 0, f"{view} is {beyond} pixels too wide"
        shot(page, f"{view}-{width}-{'dark' if dark else 'light'}")
        page.evaluate(axe)
        found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        faults = [
            (fault["id"], fault["nodes"][0]["html"][:160], fault["nodes"][0]["failureSummary"][:200])
            for fault in found["violations"]
            if fault["impact"] in WORST
        ]
        assert faults == [], view


def test_the_keyboard_alone_will_do(opened: Any) -> None:
    page = opened()
    settle(page)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-view=pictures]")
    assert page.evaluate("() => document.activeElement.id") == "main"
    go(page, "calculator")
    slider = page.get_by_label("Noise multiplier, slider")
    slider.focus()
    before = page.locator("output.value").inner_text()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("(before) => document.querySelector('output.value').textContent !== before", arg=before)
    assert float(slider.get_attribute("aria-valuetext")) > 1


SCRIPT = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"


def test_nothing_that_is_said_becomes_code(opened: Any) -> None:
    fragment = urlencode(
        [("view", "calculator"), ("unit", SCRIPT), ("name", SCRIPT), ("run", f"laplace 1 {SCRIPT}"), ("form", "")]
    )
    page = opened(fragment)
    page.wait_for_selector(".result .problem")
    page.fill("textarea", f"laplace {SCRIPT}")
    settle(page)
    page.fill("textarea", "laplace 1")
    page.wait_for_selector("output.value")
    for view in VIEWS:
        go(page, view)
        assert "broken" not in page.title()
        assert page.locator("main img, main script").count() == 0


def test_a_link_to_a_bomb_is_answered_in_words(opened: Any) -> None:
    page = opened(urlencode([("run", "gaussian 1 | poisson 0.5 | repeat 1e18"), ("name", "bomb"), ("form", "")]))
    page.wait_for_selector(".result .problem")
    page.fill("textarea", "laplace 2")
    page.wait_for_selector("output.value")


def test_without_the_token_the_page_says_what_to_do(opened: Any) -> None:
    page = opened(token=False)
    page.wait_for_selector(".problem")
    assert "hush app printed" in page.locator("main").inner_text()


def test_no_other_page_can_frame_or_ask(chromium: Any, server: Served) -> None:
    """From another origin: the frame stays empty, and every way to ask fails."""
    context = chromium.new_context()
    page = context.new_page()
    page.route(
        "http://attacker.example/**", lambda route: route.fulfill(content_type="text/html", body="<h1>hello</h1>")
    )
    page.goto("http://attacker.example/")
    target = f"http://127.0.0.1:{server.port}"
    asked = """async ([target, token]) => {
        const say = async (headers, mode) => { try {
            const reply = await fetch(`${target}/ask`, { method: "POST", headers, mode, body: "{}" });
            return `${reply.type} ${reply.status}`; } catch (error) { return "failed"; } };
        return [await say({ "content-type": "application/json", "x-hush-token": token }, "cors"),
                await say({ "content-type": "text/plain" }, "cors"), await say({ "content-type": "text/plain" }, "no-cors")]; }"""
    first, second, third = page.evaluate(asked, [target, server.token])
    assert (first, second) == ("failed", "failed") and third in ("failed", "opaque 0")
    page.evaluate(
        """(target) => new Promise((done) => { const frame = document.createElement("iframe");
        frame.onload = done; frame.onerror = done; frame.src = target; document.body.append(frame); })""",
        f"{target}/",
    )
    assert not any(frame.url.startswith(target) and frame.query_selector("main") for frame in page.frames)
    context.close()


def test_ten_tabs_at_once(opened: Any) -> None:
    first = opened()
    pages = [first, *(first.context.new_page() for _ in range(9))]
    for number, page in enumerate(pages):
        if page is not first:
            page.goto(first.url.replace("view=", f"x={number}&view="))
    for page in pages:
        page.wait_for_selector("output.value")
    assert {page.locator("output.value").inner_text() for page in pages} == {"1.1"}


def test_the_page_weighs_little(opened: Any, server: Served) -> None:
    names = ("calculator", "pictures")
    sizes = []
    page = opened()
    page.on("response", lambda reply: sizes.append(len(reply.body())) if "/ask" not in reply.url else None)
    page.reload()
    page.wait_for_selector("body[data-ready]")
    for name in names:
        go(page, name)
    assert 0 < sum(sizes) <= 1_200_000
