"""Pages in a browser: wide and narrow windows, light and dark, print, and keyboard."""

import shutil
from itertools import product

import pytest

_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_FLAGS += ["--disable-component-update", "--disable-sync"]
_DECODE = "Promise.all([...document.images].map(image => image.decode()))"
_FITS = "document.documentElement.scrollWidth <= window.innerWidth"
_CAPTIONS_FIT = """[...document.querySelectorAll('.scroll')].every(
    box => box.querySelector('caption span').getBoundingClientRect().right <= box.getBoundingClientRect().right)"""

if _BROWSER is None:
    pytest.skip("Chromium is not installed", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=_BROWSER, args=_FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def addresses(written):
    return {name: path.as_uri() for name, path in written.items()}


@pytest.fixture
def visit(browser, addresses):
    """Return a function that opens a page and records its messages and requests."""
    contexts = []

    def open_page(name, width, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page, messages, asked = context.new_page(), [], []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(addresses[name])
        page.evaluate(_DECODE)
        return page, messages, asked

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["sweep", "tuning", "mixed"])
def test_fits_the_window_without_messages(visit, addresses, name):
    page, messages, asked = visit(name, 400)
    assert page.evaluate("document.scripts.length") == 0
    assert "best" in page.text_content("h1") or "better" in page.text_content("h1")
    for width, scheme in product([400, 1280], ["light", "dark"]):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.evaluate(_DECODE)
        assert page.evaluate(f"innerWidth == {width} && matchMedia('(prefers-color-scheme: {scheme})').matches")
        assert page.evaluate(_FITS), (width, scheme)
        assert page.evaluate(_CAPTIONS_FIT), (width, scheme)
        images = page.evaluate("[...document.images].map(image => [image.naturalWidth, image.clientWidth, image.alt])")
        assert images
        for natural, shown, words in images:
            assert natural > 0
            assert 300 <= shown <= width
            assert words
    assert messages == []
    assert [url for url in asked if not url.startswith("data:")] == [addresses[name]]


def test_rows_are_lists_in_narrow_windows(visit):
    page, _, _ = visit("sweep", 400)
    assert page.evaluate("[...document.querySelectorAll('.scroll, pre')].every(it => it.scrollWidth <= it.clientWidth)")
    before = "getComputedStyle(document.querySelector('td'), '::before').content"
    assert page.evaluate(before) == 'attr(data-column) ": "' or "verdict" in page.evaluate(before)
    assert page.locator("table").first.get_by_role("columnheader").count() > 3
    assert page.evaluate(_FITS)
    page.evaluate("document.querySelector('h1').style.width = '500px'")  # control
    assert not page.evaluate(_FITS)


def test_keyboard_navigation(visit):
    page, _, _ = visit("sweep", 400)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    assert page.evaluate("document.activeElement.getBoundingClientRect().toJSON()")["left"] >= 0.0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "scroll"


def test_print(visit):
    page, _, _ = visit("sweep", 690, "dark")  # A4 within its margins
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(_FITS)
    assert page.pdf(format="A4")[:5] == b"%PDF-"
