"""A person with a browser, who does and notices what people do and notice.

::

    with browser.visit(server.url, session="…") as ben:
        ben.opens("/admin/")
        ben.fills("Why not? The model is told.", "Too much.")
        ben.presses("Deny")
        assert "You denied it." in ben.reads()
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.conf import settings
from playwright.sync_api import BrowserContext, Page, sync_playwright

T = TypeVar("T")
LONGEST_WAIT = 10_000  # milliseconds: only a fault makes anybody wait so long

# All visitors see the same site: a process for each of them would only cost time.
FEW_PROCESSES = ["--renderer-process-limit=1", "--disable-features=SpareRendererForSitePerProcess,IsolateOrigins"]

# The name under which a person finds what has the focus.
FOCUSED = """() => {
    const it = document.activeElement;
    const label = it.labels && it.labels.length ? it.labels[0] : it;
    return (it.getAttribute("aria-label") || label.innerText || it.value || it.title || it.tagName).trim();
}"""


class Browser:
    """One Chromium for all tests, in a thread of its own.

    Playwright keeps an event loop running in the thread that started it. In the tests' thread, Django would refuse the
    database because of it, and no other test could run a loop.
    """

    def __init__(self, executable: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")
        self._playwright = self.does(lambda: sync_playwright().start())
        self._chromium = self.does(
            lambda: self._playwright.chromium.launch(executable_path=executable, args=FEW_PROCESSES)
        )

    def does(self, action: Callable[[], T]) -> T:
        return self._thread.submit(action).result()

    def close(self) -> None:
        self.does(self._chromium.close)
        self.does(self._playwright.stop)
        self._thread.shutdown()

    @contextmanager
    def visit(self, site: str, *, session: str, **options: Any) -> Iterator["Visitor"]:
        """A visitor with a browser as new but for a session. ``options`` are those of Playwright's ``new_context``."""
        cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session, "url": site}
        context = self.does(lambda: self._chromium.new_context(base_url=site, **options))
        try:
            self.does(lambda: context.add_cookies([cookie]))
            yield Visitor(self, context, site)
        finally:
            self.does(context.close)


class Visitor:
    def __init__(self, browser: Browser, context: BrowserContext, site: str) -> None:
        self._browser = browser
        self._site = site
        self.left_the_site: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = browser.does(lambda: self._first_page(context))

    def _first_page(self, context: BrowserContext) -> Page:
        context.set_default_timeout(LONGEST_WAIT)
        context.on("request", lambda request: self._notice_request(request.url))
        context.on("console", lambda message: self._notice_words(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        return context.new_page()

    def _notice_request(self, address: str) -> None:
        if not address.startswith(f"{self._site}/"):
            self.left_the_site.append(address)

    def _notice_words(self, kind: str, words: str) -> None:
        # A page with an error of its own has another status than 200, which the browser mentions: "Failed to load".
        if kind in ("error", "warning") and not words.startswith("Failed to load resource"):
            self.complaints.append(words)

    # --- does -------------------------------------------------------------------------------------------------------

    def opens(self, address: str) -> int:
        """Give the status of the page."""
        return self._browser.does(lambda: self.page.goto(address).status)

    def presses(self, button: str) -> None:
        """Press a button that leads to another page."""
        self._goes_on(self.page.get_by_role("button", name=button, exact=True).click)

    def follows(self, link: str) -> None:
        self._goes_on(self.page.get_by_role("link", name=link).first.click)

    def fills(self, label: str, words: str) -> None:
        self._browser.does(lambda: self.page.get_by_label(label, exact=True).fill(words))

    def chooses(self, label: str, option: str) -> None:
        self._browser.does(lambda: self.page.get_by_role("combobox", name=label).select_option(label=option))

    def ticks(self, words: str) -> None:
        """Tick the row of a list that has these words."""
        self._browser.does(self.page.get_by_role("row", name=words).get_by_role("checkbox").check)

    def prefers(self, scheme: str) -> None:
        """``light`` or ``dark``."""
        self._browser.does(lambda: self.page.emulate_media(color_scheme=scheme))

    def has_a_screen_of(self, width: int, height: int) -> None:
        self._browser.does(lambda: self.page.set_viewport_size({"width": width, "height": height}))

    def toggles_theme_to(self, theme: str) -> None:
        """The button goes through the themes."""
        html, button = self.page.locator("html"), self.page.locator(".theme-toggle:visible")
        for _ in ("auto", "light", "dark"):
            if self._browser.does(lambda: html.get_attribute("data-theme")) == theme:
                return
            self._browser.does(button.click)
        raise AssertionError(f"The button does not lead to {theme}.")

    def strikes(self, key: str) -> None:
        """Strike a key that leads nowhere else."""
        self._browser.does(lambda: self.page.keyboard.press(key))

    def strikes_and_goes_on(self, key: str) -> None:
        self._goes_on(lambda: self.page.keyboard.press(key))

    def _goes_on(self, action: Callable[[], None]) -> None:
        def act() -> None:
            with self.page.expect_navigation():
                action()

        self._browser.does(act)

    # --- notices ----------------------------------------------------------------------------------------------------

    def reads(self, part: str = "#container") -> str:
        """What is visible, as text."""
        return self._browser.does(self.page.locator(part).inner_text)

    def finds(self, role: str, name: str) -> bool:
        """There is a visible button, link … of this name."""
        return self._browser.does(lambda: self.page.get_by_role(role, name=name, exact=True).count() > 0)

    def finds_typed(self, label: str) -> str:
        return self._browser.does(self.page.get_by_label(label, exact=True).input_value)

    def measures(self, script: str) -> Any:
        """What a script says of the page."""
        return self._browser.does(lambda: self.page.evaluate(script))

    def complains_of(self, script: str) -> str:
        """What the browser says when a script does something: something that this visitor is not to forgive."""

        def look() -> str:
            with self.page.expect_console_message() as said:
                self.page.evaluate(script)
            return said.value.text

        words = self._browser.does(look)
        self.complaints.remove(words)
        return words

    @property
    def has_focused(self) -> str:
        return self.measures(FOCUSED)

    @property
    def address(self) -> str:
        return self.page.url.removeprefix(self._site)

    def looks_at(self, part: str) -> bytes:
        """What it looks like, as a picture."""
        return self._browser.does(self.page.locator(part).screenshot)
