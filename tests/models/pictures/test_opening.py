"""A page opens in the desktop's browser; without a browser the page is only written, and a message reports this."""

import importlib
import sys
import webbrowser
from pathlib import Path

import pytest
from screwbond.models.pictures import Page

from tests.inner.models_pictures import DESKTOPS


def test_without_a_desktop_the_page_is_written_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in DESKTOPS:
        monkeypatch.delenv(name, raising=False)
    assert not Page("title", "<p>text").open(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "<p>text"


@pytest.mark.skipif(sys.platform == "win32", reason="a browser that is a shell script")
def test_the_browser_of_the_user_gets_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    browser.chmod(0o755)
    with monkeypatch.context() as around:
        for name in DESKTOPS:
            around.delenv(name, raising=False)
        around.setenv("BROWSER", f"{browser} %s")
        importlib.reload(webbrowser)  # it reads the environment once
        assert Page("title", "<p>text").open(tmp_path / "page.html")
    importlib.reload(webbrowser)
    assert told.read_text().strip() == (tmp_path / "page.html").as_uri()
