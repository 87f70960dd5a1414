"""Browser: Debian's Chromium without a screen, and what it has logged of a page."""

import base64
import json
import pathlib
import shutil
import sys
import tempfile
import time

CHROMIUM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
SKIPPED = 77
SOON_S = 30


def skip_without_chromium():
    try:
        import selenium  # noqa: F401
    except ImportError:
        print("skipped: python3-selenium is not installed")
        sys.exit(SKIPPED)
    for program in (CHROMIUM, DRIVER):
        if not pathlib.Path(program).exists():
            print(f"skipped: {program} is not installed (chromium, chromium-driver)")
            sys.exit(SKIPPED)


class Browser:
    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        self._profile = tempfile.mkdtemp(prefix="pace-page-")
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # Whoever runs this as root has no sandbox; a container's /dev/shm may be small.
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--disable-component-update", "--no-first-run", f"--user-data-dir={self._profile}",
                     "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        except BaseException:
            shutil.rmtree(self._profile, ignore_errors=True)
            raise
        self.show_as()

    def close(self):
        self.driver.quit()
        shutil.rmtree(self._profile, ignore_errors=True)

    def devtools(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def show_as(self, width=1280, height=900, dark=False, phone=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.forget_logs()
        self.driver.get(url)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        """What the elements of a selector hold, in lines."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map(one => one.textContent).join('\\n')", selector)

    def wait(self, what, told, seconds=SOON_S):
        """The first answer of `told` that is not false, and after how many seconds it came."""
        began = time.monotonic()
        while True:
            answer = told()
            spent = time.monotonic() - began
            if answer:
                return answer, spent
            if spent > seconds:
                raise AssertionError(f"not within {seconds} s: {what}; the page says:\n{self.text('body')}\n{self.console()}")

    def wait_for_text(self, selector, words, seconds=SOON_S):
        return self.wait(f"{words!r} in {selector}", lambda: words in self.text(selector), seconds)[1]

    def refreshes(self):
        """How often the page has shown a document."""
        return self.run("return performance.getEntriesByName('pace-show').length")

    def wait_for_refreshes(self, amount):
        """After so many more documents. The page forgets its count now and then."""
        for _ in range(amount):
            before = self.refreshes()
            self.wait("another document", lambda: self.refreshes() != before)

    def forget_logs(self):
        self._console = []
        self.driver.get_log("performance")
        self.driver.get_log("browser")

    def console(self):
        """Errors and warnings since the page was opened."""
        self._console += [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        return self._console

    def requests(self):
        """The requests of the page since the last call: (method, URL, headers)."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                request = message["params"]["request"]
                found.append((request["method"], request["url"], request["headers"]))
        return found

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def focused(self):
        return self.run("const one = document.activeElement; return one.id || one.getAttribute('aria-label') || one.textContent")

    def picture(self, path, width, height):
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        answer = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))
