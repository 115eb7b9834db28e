"""The walls between the floors: who may import whom, and that nothing is loaded that could run."""

import ast
import functools
import graphlib
import sys

from places import ROOT

TORCH = {"torch", "transformers", "tokenizers", "datasets", "safetensors", "accelerate"}
READING = {"numpy", "pandas", "pyarrow", "scipy", "matplotlib", "tabulate", "joblib"}
READING |= {"jinja2", "markdown_it", "markupsafe"}
STANDARD = set(sys.stdlib_module_names)
# what a method says without torch, and what those below may ask it for
SETTINGS = ("settings", "sections")
FLOORS = {  # a floor's folder, and what its modules may import of the project
    "core/config": ("core.config",),
    "core/study": ("core.config", "core.study"),
    "core/store": ("core.config", "core.store"),
    "core/data": ("core.config", "core.store", "core.data"),
    "core/rewriting": ("core.config", "core.rewriting"),
    "core/encoder": ("core.config", "core.store", "core.data", "core.encoder"),
    "core/methods": ("core.config", "core.encoder", "core.methods"),
    "core/evaluation": (
        *("core.config", "core.store", "core.data", "core.encoder", "core.evaluation"),
        "core.methods.contrastive",
    ),
    "core/training": (
        *("core.config", "core.store", "core.data", "core.encoder", "core.methods"),
        *("core.evaluation", "core.training"),
    ),
    "core/report": ("core.config", "core.study", "core.report", "core.store.files"),
    "core/runner": (
        *("core.config", "core.study", "core.store", "core.data", "core.report", "core.runner"),
    ),
    "studies": ("core.config", "core.study", "studies"),
}
MORE = {
    # imported only once the command line and the data are right
    "core/runner/evaluate.py": ("core.evaluation",),
    # what a run is executed with, without torch
    "core/runner/train.py": ("core.training.execution",),
    "core/runner/worker.py": ("core.training.execution",),
    # remembers what it drew, and with which code
    "core/report/drawn.py": ("core.store",),
    # whose data are none
    "core/report/own_scores.py": ("core.data.sources",),
    # asks git which rules a commit holds
    "core/report/rule_age.py": ("core.store",),
    # imported only when a rewritten text is missing
    "core/encoder/tokens.py": ("core.rewriting",),
}
# none imports torch, but for two functions that try a GPU
BESIDE_TORCH = {
    "core/runner/worker.py": {"torch"},
    "core/runner/evaluate.py": {"torch"},
    "core/data/own_data.py": {"datasets"},
}
WITHOUT_TORCH = (
    *("core/config", "core/study", "core/store", "core/data", "core/report", "core/runner"),
    "studies",
)


def modules(folder):
    return sorted(
        path
        for path in (ROOT / folder).rglob("*.py")
        if "tests" not in path.relative_to(ROOT).parts
    )


# of core/runner: the report takes a second to import, and nothing but a cluster needs dask
LATE = ("core.report", "core.runner.cluster", "core.runner.evaluate", "core.runner.settle")


@functools.cache
def imported(path, at_once=False):
    """Every module that a file names in an import, at any depth or outside its functions, relative
    ones refused."""
    names = set()
    tree = ast.parse(path.read_text())
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def tops(path):
    return {name.partition(".")[0] for name in imported(path)}


def beyond(path, *allowed):
    """What a file imports of the project that it may not; settings of methods are open to all."""
    names = set()
    for name in imported(path) - {"core.methods"}:
        of_settings = name.startswith("core.methods.") and set(name.split(".")) & set(SETTINGS)
        ours = name.startswith(("core.", "studies.", "tools."))
        if (
            ours
            and not of_settings
            and not name.startswith(("core.errors", "core.formatting", *allowed))
        ):
            names.add(name)
    return names


def test_a_floor_imports_those_below_it_and_no_torch_where_plans_and_drawings_are_made():
    for folder, allowed in FLOORS.items():
        for path in modules(folder):
            name = str(path.relative_to(ROOT))
            assert not beyond(path, *allowed, *MORE.get(name, ())), path
            if folder in WITHOUT_TORCH:
                assert tops(path) & TORCH <= BESIDE_TORCH.get(name, set()), path
            if folder in ("core/config", "core/study", "studies"):
                assert tops(path) <= STANDARD | {"core", "studies"}, path
            if folder == "core/report":
                assert tops(path) <= STANDARD | {"core"} | READING, path
            if folder != "core/training" and name != "core/runner/cluster.py":
                assert not tops(path) & {"dask", "distributed"}, path
            if folder == "core/runner" and name != "core/runner/settle.py":  # which is late itself
                late = {
                    module for module in imported(path, at_once=True) if module.startswith(LATE)
                }
                assert not late, path
    for path in modules("core"):  # a child that multiprocessing forks clears what is registered
        assert "atexit" not in tops(path), path
    for path in modules("core/methods"):
        if path.stem in (*SETTINGS, "__init__"):
            assert tops(path) <= STANDARD | {"core"} and not beyond(path, "core.config"), path


def test_no_import_goes_in_a_circle():
    """Imports for types alone and inside functions count, too."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in modules("core")
    }
    graph = {name: (imported(path) & set(names)) - {name} for name, path in names.items()}
    assert len(graph) > 80 and sum(map(len, graph.values())) > 400
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def test_weights_and_arrays_are_loaded_without_code_in_them():
    """ruff finds what else unpickles, evaluates or opens a shell (its rules S)."""
    needed = {"torch.load(": "weights_only=True", "np.load(": "allow_pickle=False"}
    files = [path for folder in ("core", "studies", "tools") for path in modules(folder)]
    for path in [ROOT / "run_study.py", *files]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            call = ast.unparse(node)
            assert "trust_remote_code=True" not in call and not call.startswith("joblib.load("), (
                path
            )
            for start, word in needed.items():
                assert word in call or not call.startswith(start), path
