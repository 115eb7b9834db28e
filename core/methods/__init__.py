"""Methods, each a folder that is found by being there: `settings.py` says what its runs are, `model.py` trains them.

`settings.py` defines METHOD (`core.spec.method.Method`) and imports no torch. `model.py` defines two classes that the job uses:

    Model(config, encoder, device)   an nn.Module with what `core.methods.contrastive.Contrastive` lists
    Views(config, text, device)      the arguments of `Model.loss` for each batch: `make(indices)`, and `skip(indices)` for steps done before

Adding a method is adding a folder. Nothing else names one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from core.spec.errors import UserError
from core.spec.printable import nearest

if TYPE_CHECKING:
    from core.spec.method import Method


def names() -> tuple[str, ...]:
    """Every method's name, in order of the alphabet."""
    return _names_in(tuple(__path__))


@functools.cache  # every configuration asks for them
def _names_in(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for folder in folders for path in Path(folder).glob("*/settings.py")))


def method(name: str) -> Method:
    """What a method's settings say. Raises UserError for an unknown name, and for settings that cannot be read."""
    known = names()
    if name not in known:
        raise UserError(f"There is no method {name}; {nearest(name, known, 'known: ' + ', '.join(known) + '.')}")
    try:
        found = importlib.import_module(f"{__name__}.{name}.settings").METHOD
        if not isinstance(found, importlib.import_module("core.spec.method").Method):
            raise TypeError(f"METHOD must be a Method, not {type(found).__name__}")
        if found.name != name:  # its runs would be those of another method
            raise TypeError(f"the method of its runs is {found.name!r}, and the folder is {name!r}")
        return found
    except Exception as error:  # the folder is being written, perhaps by somebody else
        said = f"{type(error).__name__}: {error}"
        raise UserError(f"Method {name} has settings that cannot be used ({said}); mend core/methods/{name}/settings.py.") from error


def sections() -> frozenset[str]:
    """The names of all sections that some method's runs have; methods whose settings cannot be used are passed over."""
    found: set[str] = set()
    for known in names():
        with contextlib.suppress(UserError):
            found |= method(known).sections()
    return frozenset(found)


def model(name: str) -> ModuleType:
    """The module that trains a method's runs; it needs torch."""
    return importlib.import_module(f"{__name__}.{name}.model")
