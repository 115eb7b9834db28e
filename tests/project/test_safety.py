"""Nothing unpickles, evaluates text or opens a shell, and the store takes no name but a run id."""

from __future__ import annotations

import ast

from places import ROOT

from core.store.store import Store

PRODUCT = [ROOT / "run_study.py", *(path for name in ("core", "studies", "tools") for path in (ROOT / name).rglob("*.py"))]
UNPICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle", "yaml"}
RUNNING = {"eval", "exec", "compile", "__import__"}


def dotted(node: ast.AST) -> str:
    """`os.system` of such an expression; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def troubles(source: str) -> list[str]:
    """What in a file could run code that somebody else wrote."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found += [f"imports {name}" for name in names if name.partition(".")[0] in UNPICKLERS]
        if not isinstance(node, ast.Call):
            continue
        name, given = dotted(node.func), {word.arg: word.value for word in node.keywords}

        def says(word: str, value: bool, given: dict = given) -> bool:
            return isinstance(given.get(word), ast.Constant) and given[word].value is value

        if name in ("torch.load", "torch.serialization.load") and not says("weights_only", True):
            found.append("torch.load without weights_only=True")
        if name in ("np.load", "numpy.load") and not says("allow_pickle", False):
            found.append("np.load without allow_pickle=False")
        ends, begins = ("read_pickle", "joblib.load"), ("os.system", "os.popen", "os.exec", "os.spawn")
        if name in RUNNING or name.endswith(ends) or name.startswith(begins):
            found.append(name)
        if name.startswith("subprocess.") and ("shell" in given or (node.args and not isinstance(node.args[0], (ast.List, ast.Name)))):
            found.append(f"{name} of a text")
        if "trust_remote_code" in given and not says("trust_remote_code", False):
            found.append("trust_remote_code")
    return found


def test_nothing_unpickles_evaluates_or_opens_a_shell():
    assert {str(file): what for file in PRODUCT if (what := troubles(file.read_text()))} == {}


def test_the_search_finds_what_it_should():
    for line in (
        "import pickle", "from dill import loads", "torch.load(f)", "torch.load(f, weights_only=False)", "np.load(f, allow_pickle=True)",
        "np.load(f)", "os.system(x)", "subprocess.run(x, shell=True)", "subprocess.run('ls ' + x)", "eval(x)", "exec(x)", "pd.read_pickle(x)",
        "joblib.load(x)", "AutoModel.from_pretrained(x, trust_remote_code=True)",
    ):  # fmt: skip
        assert len(troubles(line)) == 1, line


def test_the_store_takes_no_name_but_a_run_id(tmp_path):
    store = Store(tmp_path, None)
    store.prepare()
    for name in ("..parquet", "0123456789abcdeF.parquet"):
        (tmp_path / "runs" / name).write_text("x")
    assert store.runs() == ()
