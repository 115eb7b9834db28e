"""A fixture that puts methods beside the shipped ones."""

import importlib
import shutil
import sys

import pytest

import core.methods
from core.config import methods


@pytest.fixture
def added(monkeypatch, tmp_path):
    """A function that puts a method's folder, changed or not, beside the shipped methods; the
    folder."""
    place = tmp_path / "core" / "methods"
    monkeypatch.setattr(core.methods, "__path__", [*core.methods.__path__, str(place)])

    def add(origin, name=None, **files):
        name = name or origin.name
        shutil.copytree(origin, place / name, dirs_exist_ok=True)
        for stem, (old, new) in files.items():
            file = place / name / f"{stem}.py"
            assert old in file.read_text()
            file.write_text(file.read_text().replace(old, new))
        return there(name)

    def write(name, settings, model):
        """A method of these two texts."""
        (place / name).mkdir(parents=True)
        (place / name / "settings.py").write_text(settings)
        (place / name / "model.py").write_text(model)
        return there(name)

    def there(name):
        methods._folders.cache_clear()
        for module in (
            f"core.methods.{name}",
            f"core.methods.{name}.settings",
            f"core.methods.{name}.model",
        ):
            monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()
        return place / name

    add.write = write
    add.place = place
    yield add
    methods._folders.cache_clear()
