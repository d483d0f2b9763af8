# SPDX-License-Identifier: Apache-2.0
"""Plugins: built-ins by table, others by the entry points of installed packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packages import install

from trialplate import plugins
from trialplate.errors import SpecError
from trialplate.spec.test_sets import ENDINGS


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that Python sees."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group, names in plugins.BUILT_IN.items() for name in names]
)
def test_every_built_in_can_be_loaded(group: plugins.Group, name: str) -> None:
    """The table names code that is there."""
    assert callable(plugins.load(group, name))


def test_looking_up_a_built_in_discovers_nothing_and_imports_no_client() -> None:
    """A plan of built-ins pays for no metadata, and loading a runner for no HTTP client."""
    code = (
        "import sys; from trialplate import plugins; plugins.find('scorers', 'exact');"
        "assert 'importlib.metadata' not in sys.modules;"
        "[plugins.load(g, n) for g in ('runners', 'scorers') for n in plugins.BUILT_IN[g]];"
        "heavy = {'httpx', 'aiohttp', 'regex', 'filelock', 'pydantic', 'yaml'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_name_of_a_package_is_found_with_its_distribution(site: Path) -> None:
    """Which package and which version ran is evidence."""
    install(
        site, "acme", "[trialplate.scorers]\nacme-f1 = acme_code:make\n", "def make(scorer, texts):\n    return 7\n"
    )
    found = plugins.find("scorers", "acme-f1")
    assert (found.distribution, found.version, found.place) == ("acme", "1.2", "acme_code:make")
    assert plugins.load("scorers", "acme-f1")(None, {}) == 7


def test_unknown_name_is_refused_with_the_nearest_one() -> None:
    """One thing to do."""
    with pytest.raises(SpecError) as caught:
        plugins.find("scorers", "exakt")
    assert caught.value.code == "PLUGIN-UNKNOWN"
    assert caught.value.hint == "did you mean exact?"


def test_package_that_claims_a_built_in_name_is_refused(site: Path) -> None:
    """Else an installed package could replace a scorer by one that passes everything."""
    install(site, "evil", "[trialplate.scorers]\nexact = evil_code:make\n")
    assert plugins.find("scorers", "exact").distribution is None
    for look in (plugins.list_plugins, lambda: plugins.find("scorers", "other")):
        with pytest.raises(SpecError) as caught:
            look()
        assert caught.value.code == "PLUGIN-CLASH"
        assert "evil" in caught.value.message


def test_two_packages_with_one_name_are_refused(site: Path) -> None:
    """Which of them ran would depend on the path."""
    install(site, "one", "[trialplate.runners]\nmine = one_code:make\n")
    install(site, "two", "[trialplate.runners]\nmine = two_code:make\n")
    with pytest.raises(SpecError) as caught:
        plugins.find("runners", "mine")
    assert caught.value.code == "PLUGIN-CLASH"


def test_package_whose_code_is_broken_is_named(site: Path) -> None:
    """The plan's author can do something about it."""
    install(site, "broken", "[trialplate.runners]\nb = broken_code:absent\n")
    with pytest.raises(SpecError, match="broken") as caught:
        plugins.load("runners", "b")
    assert caught.value.code == "PLUGIN"


def test_built_in_endings_of_files_are_those_that_test_sets_read() -> None:
    """A package cannot claim one of them, and the listing has them all."""
    assert tuple(plugins.BUILT_IN["loaders"]) == ENDINGS
