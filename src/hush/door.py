"""The door of a package: public names are listed once, in `__init__.pyi`, and loaded when first used.

Type checkers read the same list, so what they see is what there is (scientific Python's SPEC 1).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from hush.errors import NotInstalled

EXPORT = re.compile(r"^from ([\w.]+) import (\w+) as \2$", re.MULTILINE)
EXTRAS = {
    "torch": "torch",
    "safetensors": "torch",
    "sklearn": "learn",
    "cryptography": "data",
    "sqlalchemy": "ledger",
    "opacus": "interop",
    "dp_accounting": "interop",
}
"""Optional packages, and the extra that brings each."""


def door(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    >>> find, names, _ = door("hush", str(Path(__file__).with_name("__init__.py")))
    >>> find("Gaussian"), "Poisson" in names()
    (<class 'hush.mechanisms.leaves.gaussian.Gaussian'>, True)
    """
    homes = homes_of(file)

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = _loaded(homes[name], name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise NotInstalled(f"{package}.{name}", error.name, EXTRAS[error.name]) from error
        setattr(sys.modules[package], name, value)  # so that it is looked up only once
        return value

    return find, lambda: sorted(homes), sorted(homes)


def homes_of(file: str) -> dict[str, str]:
    """The public names of a package, and the module that has each; nothing is loaded.

    >>> homes_of(str(Path(__file__).with_name("__init__.py")))["Gaussian"]
    'hush.mechanisms.leaves.gaussian'
    """
    return {name: home for home, name in EXPORT.findall(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))}


def _loaded(home: str, name: str) -> object:
    """What the module calls by this name, or the module of this name in a package."""
    if home != "hush":
        module = import_module(home)
        if hasattr(module, name):
            return getattr(module, name)
    return import_module(f"{home}.{name}")
