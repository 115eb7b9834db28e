"""How large the Python code under a folder is."""

import ast
import io
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

WORDS = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}
# what every method, paper and study states, and every script
SHARED = {"main", "METHOD", "STUDY", "PAPER", "Model", "CONFIG"}


class Size(NamedTuple):
    """Words of Python (names, numbers, operators, strings), files that have lines, lines of the
    longest file, and names at module level that several files give to something of their own."""

    tokens: int
    files: int
    longest: int
    shared_names: list[str]


def size(folder: Path) -> Size:
    """The size of the Python files under a folder."""
    tokens = 0
    lengths = []
    homes = defaultdict[str, set[Path]](set)
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lengths.append(text.count("\n"))
        inside = 0  # f-strings, which are one word; Python 3.12 and later read their parts
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            inside += (kind == "FSTRING_START") - (kind == "FSTRING_END")
            tokens += not inside and (token.type in WORDS or kind == "FSTRING_END")
        for node in ast.parse(text).body:
            for name in stated(node):
                homes[name].add(path)
    shared = {name for name, files in homes.items() if len(files) > 1 and name[:2] != "__"}
    return Size(tokens, sum(map(bool, lengths)), max(lengths), sorted(shared - SHARED))


def stated(node: ast.stmt) -> list[str]:
    """The names that a statement at module level gives."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]
