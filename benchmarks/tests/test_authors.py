"""The comparison with the authors' own code: its groups of parameters and its order of the text."""

from itertools import islice
from types import SimpleNamespace

from torch import nn

from benchmarks import authors


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
