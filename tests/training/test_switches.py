"""Every switch changes the arithmetic, not only the run id: a few tiny steps under each value must
end elsewhere."""

import numpy as np
import pytest
import tiny
import torch

from core.config import methods
from core.config.identity import run_id
from core.config.vary import parsed, vary
from core.encoder.packing import pack
from core.encoder.tokens import TokenTable
from core.methods.contrastive import TrainingText
from core.methods.mocose.model import MoCoSE
from core.training.trainer import train, training_batches

CPU = torch.device("cpu")
TEXTS = [" ".join(f"w{(7 * i + j) % 45}" for j in range(5 + i % 4)) for i in range(23)]
KNOWN = {"[MASK]": 4, "a": 5, "the": 6}


class WordTokenizer:
    """Blank-separated words w0 … w44 as ids 5 … 49 between two special tokens. "[MASK]" is 4; two
    stop-words are known."""

    mask_token = "[MASK]"
    unk_token = "[UNK]"

    def tokenize(self, text):
        return [word if word in KNOWN else "[UNK]" for word in text.split()]

    def __call__(self, texts, truncation, max_length):
        ids = [
            [2, *(KNOWN.get(word) or 5 + int(word[1:]) for word in text.split())] for text in texts
        ]
        return {"input_ids": [row[: max_length - 1] + [3] for row in ids]}


def table_of(texts, config):
    ids = WordTokenizer()(texts, True, config.data.max_length)["input_ids"]
    return TokenTable(np.concatenate(ids).astype(np.int32), np.cumsum([0, *map(len, ids)]))


def outcome(config, rows=23, rewritten=None):
    """Everything that a run leaves after its steps, as one vector: losses, weights that score,
    scored vectors."""
    table = table_of(TEXTS[:rows], config)
    rates = (config.encoder.hidden_dropout, config.encoder.attention_dropout)
    model = methods.model(config.method).Model(config, tiny.encoder(tiny.bert(), *rates), CPU)
    text = TrainingText(table, lambda: TEXTS[:rows], WordTokenizer(), rewritten)
    batches = training_batches(config, text, CPU)
    training = train(config, model, batches, lambda step: float(step), lambda report: None)
    model.eval()
    with torch.no_grad():
        scored = model.sentence_vectors(pack([table[i] for i in range(6)]))
    parts = [torch.tensor([loss for _, loss in training.losses]), scored.flatten()]
    parts += [value.flatten() for value in training.selected.state.values()]
    return torch.cat(parts)


def moved(a, b):
    return a.shape != b.shape or not torch.equal(a, b)


STARTS = {
    "mocose": {
        "heads.dropout": 0.1,
        "encoder.hidden_dropout": 0.1,
        "fgsm.epsilon": 0.01,
        "ema.total_updates": 15,
    },
    "esimcse": {
        "encoder.hidden_dropout": 0.1,
        "dup.rate": 0.6,
        "data.max_length": 9,
        "momentum.lambda": 0.9,
    },
}
PER_BATCH = {"aug.position_shuffle": "per_batch", "aug.position_shuffle_range": "padded"}
CUT_OFF = {"aug.token_cutoff": 0.2}
SWITCHES = {  # between blanks; what goes together is joined by commas
    "mocose": """
        loss.in_batch_negatives=false loss.temperature=0.1
        ema.schedule=constant,ema.end=none,ema.total_updates=none
        ema.schedule=cosine_to_end,ema.end=0.95,ema.total_updates=none
        ema.total_updates=5 ema.start=0.5
        target.stop_gradient=false target.embeddings=ema target.dropout=off
        eval.vector=pooler eval.vector=projection eval.every=2,select.metric=last
        heads.projection_tail=linear_ln heads.projection_tail=linear
        heads.projection_layers=0 heads.projection_layers=2
        heads.predictor_layers=0 heads.predictor_layers=3
        heads.out_size=8 heads.predictor_hidden=8 heads.dropout=0.3
        queue.init=released_2022 queue.init_size=3 queue.size=6,queue.init_size=6
        queue.negatives=mean queue.negatives=kmeans,queue.clusters=3 queue.slice=0-4
        fgsm.gradient=current fgsm.gradient=none,fgsm.epsilon=0 fgsm.views=online_only
        fgsm.gradient=current,fgsm.views=online_only fgsm.gradient=current,fgsm.epsilon=1e-4
        fgsm.epsilon=0.05 fgsm.at_eval=true
        aug.position_shuffle=per_batch,aug.position_shuffle_range=padded
        aug.position_shuffle=per_sentence,aug.position_shuffle_range=padded
        aug.position_shuffle=per_sentence,aug.position_shuffle_range=real_tokens
        aug.token_cutoff=0.2,aug.token_cutoff_pool=padded_all
        aug.token_cutoff=0.2,aug.token_cutoff_pool=real_tokens
        aug.token_cutoff=0.2,aug.token_cutoff_pool=real_tokens_no_special
        aug.feature_cutoff=0.2
        train.batch_size=3 train.weight_decay=0.1 train.learning_rate=2e-3
        train.warmup_fraction=0.5 train.clip_norm=0.01 train.beta1=0.5 train.beta2=0.9
        train.epsilon=1e-2 train.steps=5 train.precision=bf16
        data.max_length=6 seed.data=1 seed.model=1
        encoder.hidden_dropout=0.2 encoder.attention_dropout=0.2
    """,
    "esimcse": """
        momentum.init=random momentum.head=ema momentum.dropout=on momentum.when=after_optimizer
        momentum.lambda=0.5 queue.view=repeated queue.size=3 queue=none,momentum=none
        dup.range=released dup.cap=1 dup.recut=true dup.protect_special=false dup.resample=static
        dup.unit=word dup.unit=stopword dup.unit=mask dup.rate=0.9 dup=none
        eval.head=on data.drop_last=false
    """,
}


@pytest.mark.parametrize("method", SWITCHES)
def test_every_switch_moves_the_run(method):
    config = vary(tiny.config(method), STARTS[method])
    plain = outcome(config)
    for switch in SWITCHES[method].split():
        changes = {}
        for pair in switch.split(","):
            path, _, value = pair.partition("=")
            changes[path] = parsed(config, path, value)
        other = vary(config, changes)
        assert run_id(config) != run_id(other) and moved(plain, outcome(other)), changes


@pytest.mark.parametrize(
    "method, start, changes",
    [
        ("mocose", {"target__stop_gradient": False}, {"target.freeze_projection": False}),  # D7
        # D37: 23 rows in batches of 4 leave 3 over
        ("mocose", tiny.NO_FGSM, {"data.drop_last": False}),
        ("esimcse", {"queue__size": 2}, {"queue.cut_first_batch": False}),  # D70
    ],
)
def test_switches_that_need_another_start(method, start, changes):
    config = tiny.config(method, **start)
    assert moved(outcome(config), outcome(vary(config, changes)))


# D26: the same text changes nothing, another one does
def test_a_rewritten_target_view_is_trained_against():
    config = tiny.config("mocose", fgsm__epsilon=0.01)
    plain = outcome(config)
    assert torch.equal(plain, outcome(config, rewritten=table_of(TEXTS, config)))
    turned = [" ".join(text.split()[::-1][:4]) for text in TEXTS]
    assert moved(plain, outcome(config, rewritten=table_of(turned, config)))


def test_padding_switch_acts_through_cutoff_and_shuffle_alone():  # D33 with D22, D24
    plain = tiny.config("mocose", data__max_length=20)
    assert torch.equal(outcome(plain), outcome(vary(plain, {"data.padding": "dynamic"})))
    for changes in (CUT_OFF | {"aug.token_cutoff_pool": "padded_all"}, PER_BATCH):
        augmented = vary(plain, changes)
        assert moved(outcome(augmented), outcome(vary(augmented, {"data.padding": "dynamic"})))


def test_fgsm_in_evaluation_has_nothing_to_replay_before_the_first_step():  # D20
    config = tiny.config("mocose", fgsm__epsilon=0.01, fgsm__at_eval=True)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), CPU)
    batch = pack(tiny.sentences(4))
    plain = MoCoSE(vary(config, {"fgsm.at_eval": False}), tiny.encoder(tiny.bert()), CPU)
    model.eval(), plain.eval()
    assert torch.equal(model.sentence_vectors(batch), plain.sentence_vectors(batch))
    model.train().loss(batch).backward()
    model.stale.keep()
    assert moved(model.eval().sentence_vectors(batch), plain.sentence_vectors(batch))


def test_esimcse_without_queue_and_repetition_is_simcse():
    simcse = tiny.config("simcse", encoder__hidden_dropout=0.1)
    without = {"queue": None, "momentum": None, "dup__range": "released", "dup__cap": 1}
    # cap 1 under the released range draws from 0..0: never repeats
    esimcse = tiny.config("esimcse", encoder__hidden_dropout=0.1, **without)
    assert torch.equal(outcome(simcse), outcome(esimcse))
