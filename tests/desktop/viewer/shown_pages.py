"""Show files on the page in a browser."""

from contextlib import contextmanager

from ozx.desktop.viewer.viewing import page_serving

BLACK, RED, GREEN, BLUE, YELLOW, WHITE = (0, 0, 0), (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255,) * 3
GRAY = (128, 128, 128)
QUARTERS = ((0.3, 0.3), (0.7, 0.3), (0.3, 0.7), (0.7, 0.7))


@contextmanager
def shown(browser, path, fragment="", draw="webgl"):
    """Show a file, and wait until it is drawn; yield the address of its page.

    The browser of the tests has no graphics card, so without the argument `draw` the page would not use WebGL.
    """
    with page_serving(path) as (server, page):
        url = server.origin + page.access.page_path
        browser.show(f"{url}?draw={draw}{fragment}")
        yield url
        assert [line for line in browser.log() if "favicon" not in line] == []
        browser.open("about:blank")


def text_of(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).innerText", selector)


def enter(browser, selector, value):
    browser.run(
        "const input = document.querySelector(arguments[0]); input.value = arguments[1];"
        "for (const name of ['input', 'change']) input.dispatchEvent(new Event(name, { bubbles: true }))",
        selector,
        value,
    )
    browser.settle()


def wait(browser, condition):
    browser._ask("POST", "/execute/async", {"script": _WAIT % condition, "args": []})


_WAIT = """
const done = arguments[arguments.length - 1];
const look = () => ((%s) ? done() : setTimeout(look, 20));
look();
"""
