"""A headless Chromium for tests of pages: what a page says, asks of the network and looks like."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

__all__ = ["Page", "browser"]

FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1280,1000", "--hide-scrollbars"),
]
#: Set where the tests must not be skipped.
NEED = "ROBX_NEED_BROWSER"


@contextmanager
def browser() -> Iterator[Page]:
    """Start Chromium with a profile of its own. Skip where there is none, unless it is a must."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if None in found:
        complaint = "there is no chromium with its chromedriver on this machine"
        if os.environ.get(NEED) == "1":
            pytest.fail(f"{NEED} is set, and {complaint}")
        pytest.skip(complaint)
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = str(found[0])
        for flag in [*FLAGS, f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # The path of the driver is given, so that selenium does not go and look for one.
        driver = webdriver.Chrome(options=options, service=Service(str(found[1])))
        try:
            driver.get("about:blank")
            yield Page(driver)
        finally:
            driver.quit()


class Page:
    """The one tab of the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path) -> None:
        """Show a file; what came before is forgotten."""
        self.complaints()
        self.requests()
        self.driver.get(file.as_uri())

    def run(self, script: str, *values: Any) -> Any:
        """Run the body of a function in the page."""
        return self.driver.execute_script(script, *values)

    def press(self, selector: str) -> None:
        """Click on the first element that fits."""
        self.driver.find_element("css selector", selector).click()

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.driver.find_element("css selector", selector).send_keys(text)

    def text(self, selector: str) -> str:
        """Give what is seen of the first element that fits."""
        return str(self.driver.find_element("css selector", selector).text)

    def complaints(self) -> list[str]:
        """Give what has come to the console since the last call: errors, warnings, all."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Give the addresses that were asked for since the last call."""
        events = [json.loads(entry["message"]) for entry in self.driver.get_log("performance")]
        sent = [event["message"] for event in events]
        return [
            event["params"]["request"]["url"]
            for event in sent
            if event["method"] == "Network.requestWillBeSent"
        ]

    def prefer(self, scheme: str = "", media: str = "") -> None:
        """Ask for light or dark colours, and for the screen or print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)

    def size(self, width: int, height: int) -> None:
        """Make the window as large as this, in CSS pixels."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def picture(self, *, whole: bool = False) -> bytes:
        """Take a screenshot, as PNG: of the window, or of the whole page."""
        taken = self.command("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    def printed(self) -> bytes:
        """Print the page, as PDF."""
        return base64.b64decode(self.command("Page.printToPDF", printBackground=True)["data"])

    def command(self, name: str, **parameters: Any) -> Any:
        """Give a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, parameters)
