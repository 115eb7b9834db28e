"""Text-level views: each rewriting against a second formulation, the cache that seeds share, and what the target branch reads."""

import json
import random
import re
from collections import Counter

import pytest
import tiny
import torch
from real import minilm_dir

from core.data.sources import DEMO_ENCODER, demo_sources, has_masked_words
from core.engine.encoder.packing import pack
from core.engine.rewriting import contextual, views
from core.engine.rewriting.contextual import TOP, WORD, Choice, blanked, proposed
from core.engine.rewriting.models import load_model
from core.engine.rewriting.typos import misspelt
from core.engine.tokens import tokenise
from core.methods.losses import info_nce
from core.methods.mocose.model import MoCoSE
from core.spec.errors import UserError
from core.spec.execution import Execution
from core.spec.profiles import base
from core.spec.scale import DEMO, at_scale
from core.spec.vary import vary
from core.spec.views import TextView

CPU = torch.device("cpu")
TEXTS = ["The tired nurse hid the thermometer, quietly.", "A dog did not see the old teacher.", "...", "The king slept."]


@pytest.fixture(scope="module")
def demo():
    return load_model(DEMO_ENCODER, "masked words", CPU)


def small(**text):
    run = vary(at_scale(base("mocose", "repaired"), DEMO, demo_sources().sources), {"data.max_length": 12})
    return vary(run, {"text": TextView(**text)})


# Masked words.


@pytest.mark.parametrize("insert", [True, False])
def test_blanks_are_put_before_or_in_place_of_the_drawn_words(insert):
    for seed in range(30):
        blank = blanked(TEXTS[0], insert, 0.5, random.Random(seed))
        assert len(blank.replaced) == 4  # ceil(0.5 * 7)
        again = blank.filled(["#" if insert else f"<{word}>" for word in blank.replaced])
        assert again.replace("#", "").replace("<", "").replace(">", "") == TEXTS[0]
        if insert:
            assert len(re.findall(r"#(?=\w)", again)) == 4
    assert blanked("...", insert, 0.5, random.Random(0)) == contextual.Blank(["..."], [])
    assert len(blanked("one two", insert, 0.3, random.Random(0)).replaced) == 1
    assert len(blanked("w " * 100, insert, 0.3, random.Random(0)).replaced) == 10


def naive_proposal(model, tokenizer, sentence, insert, rate, seed):
    """One sentence by string surgery: mask, look at the logits word by word, take the best of probability and noise."""
    spans = [m.span() for m in WORD.finditer(sentence)]
    count = min(10, -int(-rate * len(spans) // 1), len(spans))
    chosen = sorted(random.Random(seed).sample(spans, count))
    masked, old = sentence, []
    for start, stop in reversed(chosen):
        masked = masked[:start] + "[MASK]" + (" " + masked[start:] if insert else masked[stop:])
        old.insert(0, None if insert else sentence[start:stop].lower())
    ids = tokenizer(masked)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    uniform = torch.rand((count, TOP), generator=torch.Generator().manual_seed(seed))
    vocabulary = {i: word for word, i in tokenizer.get_vocab().items()}
    for number, place in enumerate([i for i, token in enumerate(ids) if token == tokenizer.mask_token_id]):
        ranked = [i for i in logits[place].argsort(descending=True).tolist() if re.fullmatch("[a-z]+", vocabulary[i])]
        ranked = [i for i in ranked if vocabulary[i] != old[number]][:TOP]
        probability = logits[place][ranked].softmax(0)
        best = int((probability.log() - torch.log(-torch.log(uniform[number]))).argmax())
        masked = masked.replace("[MASK]", vocabulary[ranked[best]], 1)
    return masked


@pytest.mark.parametrize("kind", ["contextual_insert", "contextual_substitute"])
def test_proposed_words_against_a_second_formulation(kind, demo):
    model, tokenizer = demo
    for seed, sentence in enumerate(TEXTS[:2] + TEXTS[3:]):
        for rate in (0.3, 0.7):
            found = proposed(model, tokenizer, [sentence], TextView(kind=kind, model="encoder", rate=rate), seed)
            assert found == [naive_proposal(model, tokenizer, sentence, kind == "contextual_insert", rate, seed)]
            assert found != [sentence]


def test_batching_does_not_mix_sentences_up(demo, monkeypatch):
    model, tokenizer = demo
    text = TextView(kind="contextual_substitute", model="encoder")
    monkeypatch.setattr(contextual, "TOP", 1)  # without chance, each sentence's words are its own whatever stands beside it
    texts = [f"The {word} slept in the garden." * (1 + i % 3) for i, word in enumerate(["king", "old nurse", "dog"] * 30)]
    together = proposed(model, tokenizer, texts, text, 4)
    places = random.Random(4)
    for sentence, found in zip(texts, together, strict=True):
        blank = blanked(sentence, False, 0.3, places)
        with torch.inference_mode():
            alone = contextual.fill(model, tokenizer, [blank], Choice(tokenizer, CPU), torch.Generator())
        assert found == blank.filled(alone[0])
    for left in ("...", "A [MASK] stood in the text."):  # a mask of the sentence's own would be taken for one of ours
        assert proposed(model, tokenizer, [left], text, 4) == [left]


def test_masks_beyond_the_model_s_length_are_dropped(demo):
    model, tokenizer = demo
    sentence = " ".join(["the dog slept"] * 40)  # 120 words, the demo encoder has 64 positions
    for kind in ("contextual_insert", "contextual_substitute"):
        found = proposed(model, tokenizer, [sentence], TextView(kind=kind, model="encoder"), 1)[0].split()
        assert "[MASK]" not in " ".join(found) and " ".join(found).endswith("the dog slept")
        assert 120 <= len(found) <= 130 and " ".join(found) != sentence


def test_words_are_drawn_by_probability_and_never_the_original(demo):
    choice = Choice(demo[1], CPU)
    ids = [choice.words.index(word) for word in ("the", "king", "boss", "nurse")]
    logits = torch.full((4000, len(choice.words)), -50.0)
    logits[:, ids] = torch.tensor([0.5, 0.3, 0.2, 9.0]).log()
    logits[:, demo[1].convert_tokens_to_ids(["##s", ".", "[MASK]"])] = 20.0  # likeliest, and never allowed
    counts = Counter(choice.draw(logits, ["Nurse"] * 4000, torch.Generator().manual_seed(0)))
    assert set(counts) == {"the", "king", "boss"}
    assert [counts[w] / 4000 for w in ("the", "king", "boss")] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_roberta_s_words_are_those_behind_a_blank():
    class Pieces:
        pieces = ("<s>", "Ġking", "ing", "Ġ.", "Ġdog", "Ġ")

        def __len__(self):
            return len(self.pieces)

        def convert_ids_to_tokens(self, ids):
            return [self.pieces[i] for i in ids]

    choice = Choice(Pieces(), CPU)
    assert [word for word, allowed in zip(choice.words, choice.allowed.tolist(), strict=True) if allowed] == ["king", "dog"]


def test_which_checkpoints_have_a_masked_word_head(tmp_path):
    assert has_masked_words(DEMO_ENCODER) and not has_masked_words(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 40)
    assert not has_masked_words(tmp_path)
    folder = minilm_dir()
    assert not has_masked_words(folder)
    with pytest.raises(UserError, match="no head for masked words"):
        load_model(folder, "masked words", CPU)


# The table that is kept, and what the branches read.


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An execution with a cache of its own, over four sentences; counts how often they are read."""
    reads = []
    monkeypatch.setattr(views, "training_text", lambda data, path: reads.append(1) or list(TEXTS))
    return Execution(results_dir=str(tmp_path), cache_dir=str(tmp_path / "cache")), reads


def rows(table):
    return [table[i].tolist() for i in range(len(table))]


def test_a_text_is_rewritten_once_for_all_seeds(place, demo):
    execution, reads = place
    config = small(kind="typos")
    first = views.rewritten_table(config, execution, demo[1], "target", CPU)
    other_seed = vary(config, {"seed.model": 3, "seed.data": 4})
    assert rows(views.rewritten_table(other_seed, execution, demo[1], "target", CPU)) == rows(first) and len(reads) == 1
    wanted = tokenise(demo[1], misspelt(TEXTS, 0.3, views.stream_seed(0, "text view typos target")), 12)
    assert rows(first) == rows(wanted)


def test_each_field_makes_another_table(place, demo):
    execution, reads = place
    model = {"model": "encoder"}
    cases = [
        small(kind="typos"), small(kind="typos", rate=0.9), small(kind="typos", detokenize="wordpiece_join"),
        small(kind="contextual_insert", **model), small(kind="contextual_substitute", **model),
        small(kind="contextual_substitute", rate=0.9, **model), vary(small(kind="typos"), {"data.max_length": 6}),
    ]  # fmt: skip
    found = [rows(views.rewritten_table(config, execution, demo[1], view, CPU)) for config in cases for view in ("target", "online")]
    assert len(reads) == len(found) and len({json.dumps(table) for table in found}) == len(found)


def test_word_pieces_are_joined_with_their_marks(demo):  # D26
    tokenizer = demo[1]
    texts = ["The xylophonist slept.", "a b c d e f g h i j k l m n o p"]
    joined = views.source_texts(small(kind="typos", detokenize="wordpiece_join"), texts, tokenizer)
    assert joined == [" ".join(tokenizer.tokenize(texts[0])[:10]), "a b c d e f g h i j"]
    assert "##" in joined[0] and tokenizer.tokenize("##s") == ["[UNK]", "[UNK]", "s"]
    assert views.source_texts(small(kind="typos"), texts, tokenizer) is texts


def test_a_model_that_is_not_there_is_named(place):
    execution, _ = place
    for kind, model in (("continuation", "xlnet-base-cased"), ("back_translation", "wmt19-en-de-en")):
        with pytest.raises(UserError, match=f"does not hold the model {model}"):
            views.rewritten(small(kind=kind, model=model), execution, TEXTS, "target", CPU)


def test_the_target_branch_alone_reads_the_rewritten_text():
    config = tiny.config("mocose", fgsm__gradient="none", fgsm__epsilon=0.0)
    batch, other = pack(tiny.sentences(4, seed=1)), pack(tiny.sentences(4, seed=2))
    by_hand, model = (MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train() for _ in range(2))
    cls, other_cls = by_hand.encoder(batch), by_hand.target_stack(by_hand.encoder.embeddings(other), other)
    query = by_hand.predictor(by_hand.projection(by_hand.pooler(cls)))
    key = by_hand.target_projection(by_hand.target_pooler(other_cls))
    expected = info_nce(query, key, by_hand.queue.visible(), temperature=0.05)
    assert torch.allclose(model.loss(batch, other), expected, atol=1e-6)
    assert torch.allclose(model.queue.visible()[:4], key, atol=1e-6)


@pytest.mark.parametrize("seen", ["both_same", "online_only"])
def test_a_stale_gradient_falls_on_the_slots_of_either_text(seen):
    config = tiny.config("mocose", fgsm__epsilon=0.05, fgsm__views=seen)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train()
    batch, other = pack(tiny.sentences(4, seed=1)), pack(tiny.sentences(4, seed=2))
    model.stale.signs = torch.ones(4, 9, tiny.HIDDEN)
    given, lookup = [], model.encoder.embeddings.finish
    model.encoder.embeddings.finish = lambda words, slots: given.append(words) or lookup(words, slots)
    model.loss(batch, other)
    keys, queries = given  # the target branch goes first
    assert torch.allclose(queries, model.encoder.embeddings.lookup(batch) + 0.05)
    assert torch.allclose(keys, model.encoder.embeddings.lookup(other) + (0.05 if seen == "both_same" else 0.0))


def test_a_waiting_process_goes_on_when_the_lock_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(views, "WAIT", 0.01)
    tried = []
    descriptor = views.locks.hold(tmp_path / "x.lock")
    monkeypatch.setattr(views.time, "sleep", lambda seconds: tried.append(1) or (len(tried) == 3 and views.locks.release(descriptor)))
    with views.alone(tmp_path / "x.lock"):
        assert len(tried) == 3 and views.locks.held(tmp_path / "x.lock")
    assert not views.locks.held(tmp_path / "x.lock")


def test_a_roberta_checkpoint_proposes_its_own_words(tmp_path):
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    words = ["king", "slept", "here", "today"]
    vocabulary = {piece: i for i, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *(f"Ġ{word}" for word in words), "slept", "<mask>"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token=AddedToken("<mask>", lstrip=True), bos_token="<s>",
        eos_token="</s>",
    ).save_pretrained(tmp_path)  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        RobertaForMaskedLM(RobertaConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=12, initializer_range=0.3, pad_token_id=1, type_vocab_size=1,
        )).save_pretrained(tmp_path)  # fmt: skip
    assert has_masked_words(tmp_path)
    model, loaded = load_model(tmp_path, "masked words", CPU)
    text = TextView(kind="contextual_substitute", model="encoder", rate=1.0)
    for seed in range(20):
        found = proposed(model, loaded, ["king slept, here", "king " * 10], text, seed)
        assert re.fullmatch(r"(slept|here|today) (king|here|today), (king|slept|today)", found[0])
        assert [word == "king" for word in found[1].split()] == [False] * 8 + [True] * 2  # ten places, two of them special tokens'
