"""The comparison with the authors' own code: its groups of parameters, its order of the text, and what it says where their code is not."""

from itertools import islice
from types import SimpleNamespace

import pytest
from torch import nn

from benchmarks import authors
from core.spec.errors import UserError


class Theirs(nn.Module):
    """The parts of the authors' model that are told apart by name."""

    def __init__(self):
        super().__init__()
        for name in ("online_encoder", "online_projection", "prodiction", "target_projection", "target_encoder"):
            setattr(self, name, nn.ModuleDict({"dense": nn.Linear(2, 2), "LayerNorm": nn.LayerNorm(2)}))
        self.target_encoder.requires_grad_(False)


def test_what_is_trained_is_grouped_by_rate_and_decay():
    train = SimpleNamespace(learning_rate=0.25, new_layer_factor=2.0, weight_decay=1e-6)
    model = Theirs()
    found = {(one["lr"], one["weight_decay"]): len(one["params"]) for one in authors.groups(model, SimpleNamespace(train=train))}
    assert found == {(0.25, 1e-6): 1, (0.25, 0.0): 3, (0.5, 1e-6): 3, (0.5, 0.0): 9}
    of_target = {id(p) for p in model.target_encoder.parameters()}
    assert not any(id(p) in of_target for one in authors.groups(model, SimpleNamespace(train=train)) for p in one["params"])


def test_the_text_comes_round_again_in_another_order_without_its_rest():
    text = [str(n) for n in range(11)]
    first = list(islice(authors.batches(text, 5, 0), 4))
    once, again = ([*first[k], *first[k + 1]] for k in (0, 2))
    assert len(set(once)) == len(set(again)) == 10 and once != again
    assert first != list(islice(authors.batches(text, 5, 1), 4))


@pytest.mark.parametrize(
    "argv, said",
    [
        (["--code", "nowhere", "--data-dir", "d", "--out", "o"], "holds no mocose.py; clone https://github.com/xbdxwyh/mocose"),
        (["--code", "nowhere", "--data-dir", "d", "--out", "o", "--steps", "-1"], "no whole number from 0"),
        (["--code", "nowhere", "--data-dir", "d", "--out", "o", "--steps", "15626"], "beyond the schedule's end; give at most 15625."),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(argv, said, capsys):
    assert authors.main(argv) == 2
    assert said in capsys.readouterr().err


def test_a_file_of_another_kind_or_with_the_seed_already_is_refused_and_stays(tmp_path):
    out = tmp_path / "authors.csv"
    authors.begun(out, 0)
    authors.begun(out, 0)  # nothing of it has run yet
    head = out.read_text()
    assert head == "seed,step,development,tests,seconds\n"
    out.write_text(head + "0,0,61.17,49.57,80\n")
    authors.begun(out, 1)
    with pytest.raises(UserError, match="has rows of seed 0 already; give another --seed or --out."):
        authors.begun(out, 0)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="has other columns than seed,step"):
        authors.begun(other, 0)
    assert other.read_text() == "a,b\n1,2\n" and out.read_text() == head + "0,0,61.17,49.57,80\n"
