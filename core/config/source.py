"""What the text of a method's files shows: the names that a model states and reads."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from pathlib import Path

from core.errors import UserError, fault, place

PACKAGE = "core.methods"
Folders = Mapping[str, Path]  # the folder of each method, by its name


def stated_names(tree: ast.Module) -> set[str]:
    """The classes, values and imports at the top of a module."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(map(ast.unparse, node.targets))
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def tree_of(file: Path) -> ast.Module:
    """The syntax of a Python file. Raises UserError with the line that is no Python, or no
    UTF-8."""
    content = b""
    try:
        content = file.read_bytes()
        return ast.parse(content.decode(), str(file))
    except UnicodeDecodeError as error:
        where = place(file, "", content.count(b"\n", 0, error.start) + 1)
        raise UserError(f"{where}: It is not UTF-8; save the file in that encoding.") from error
    except (OSError, SyntaxError) as error:
        raise UserError(fault(file, error)) from error


@functools.cache  # each change of a temperature asks for them
def attributes(file: Path) -> set[str]:
    """The names that a Python file reads of objects."""
    return _attributes_in(tree_of(file))


def attributes_with_bases(file: Path, folders: Folders) -> set[str]:
    """The names that a method's model reads of objects: those of its own file, and those of the
    functions that its Model takes over from classes of other methods. Empty for an unusable file,
    of which a plan says what is wrong."""
    try:
        return attributes(file) | _taken_over(file, "Model", frozenset(), folders)
    except UserError:
        return set()


def _taken_over(file: Path, name: str, own: frozenset[str], folders: Folders) -> set[str]:
    """The names that a class of this file and its bases read of objects, without functions that an
    heir of the class states itself (`own`)."""
    tree = tree_of(file)
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= _imported(node, name, own, folders)
        elif isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
            names |= _taken_over(file, ast.unparse(node.value), own, folders)
        elif isinstance(node, ast.ClassDef) and node.name == name:
            functions = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            for function in functions:
                if function.name not in own:
                    names |= _attributes_in(function)
            # what `super()` calls is not replaced
            replaced = {each.name for each in functions if "super()" not in ast.unparse(each)}
            for base in {ast.unparse(each) for each in node.bases} - {name}:
                names |= _taken_over(file, base, own | replaced, folders)
    return names


def _imported(
    statement: ast.ImportFrom, name: str, own: frozenset[str], folders: Folders
) -> set[str]:
    """The same of a class that this statement imports under a name from a method's folder."""
    package, _, path = (statement.module or "").rpartition(f"{PACKAGE}.")
    folder, _, module = path.partition(".")
    if package or folder not in folders or not module:
        return set()
    names: set[str] = set()
    for alias in statement.names:
        if name == (alias.asname or alias.name):
            names |= _taken_over(folders[folder] / f"{module}.py", alias.name, own, folders)
    return names


def _attributes_in(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
