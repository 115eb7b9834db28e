"""Nothing unpickles, evaluates text or opens a shell, and the store takes no name but a run id."""

import ast

import pytest
from places import ROOT

from core.store.store import Store

PRODUCT = [ROOT / "run_study.py", *(path for name in ("core", "studies", "tools") for path in (ROOT / name).rglob("*.py"))]
UNPICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle", "yaml"}
RUNNING = ("eval(", "exec(", "compile(", "__import__(", "os.system(", "os.popen(", "os.exec", "os.spawn", "joblib.load(")
NEEDED = {"torch.load(": "weights_only=True", "np.load(": "allow_pickle=False"}


def troubles(source: str) -> list[str]:
    """What in a file could run code that somebody else wrote."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found += [f"imports {name}" for name in names if name.partition(".")[0] in UNPICKLERS]
        if isinstance(node, ast.Call):
            call = ast.unparse(node)
            found += [f"{call} without {word}" for start, word in NEEDED.items() if call.startswith(start) and word not in call]
            found += [call] if call.startswith(RUNNING) or ".read_pickle(" in call else []
            found += [call] if "trust_remote_code=" in call.replace("trust_remote_code=False", "") else []
            shell = "shell=" in call or node.args and not isinstance(node.args[0], ast.List | ast.Name)
            found += [call] if call.startswith("subprocess.") and shell else []
    return found


def test_nothing_unpickles_evaluates_or_opens_a_shell():
    assert {str(file): what for file in PRODUCT if (what := troubles(file.read_text()))} == {}


@pytest.mark.parametrize("line", (
    "import pickle", "from dill import loads", "torch.load(f)", "torch.load(f, weights_only=False)", "np.load(f, allow_pickle=True)",
    "os.system(x)", "subprocess.run(x, shell=True)", "subprocess.run('ls ' + x)", "eval(x)", "exec(x)", "pd.read_pickle(x)",
    "joblib.load(x)", "AutoModel.from_pretrained(x, trust_remote_code=True)",
))  # fmt: skip
def test_the_search_finds_what_it_should(line):
    assert len(troubles(line)) == 1


def test_the_store_takes_no_name_but_a_run_id(tmp_path):
    store = Store(tmp_path, None)
    store.prepare()
    for name in ("..parquet", "0123456789abcdeF.parquet"):
        (tmp_path / "runs" / name).write_text("x")
    assert store.runs() == ()
