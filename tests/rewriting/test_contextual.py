"""Masked words: the rewriting against a second formulation, and which words may be written."""

import random
import re
import shutil

import pytest
import tiny_checkpoint
import torch
from english import TEXTS
from safetensors.torch import load_file
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

from core.data.encoders import DEMO_ENCODER
from core.errors import UserError
from core.methods.mocose.sections import TextView
from core.rewriting import contextual
from core.rewriting.contextual import LIKELIEST_WORDS, WORD, Choice, blanked, proposed
from core.rewriting.models import load_model

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def demo():
    return load_model(DEMO_ENCODER, "masked words", CPU)


@pytest.mark.parametrize("insert", [True, False])
def test_blanks_are_put_before_or_in_place_of_the_drawn_words(insert):
    for seed in range(30):
        blank = blanked(TEXTS[0], insert, 0.5, random.Random(seed))
        assert len(blank.replaced) == 4  # ceil(0.5 * 7)
        again = blank.filled(["#" if insert else f"<{word}>" for word in blank.replaced])
        assert again.replace("# ", "").replace("<", "").replace(">", "") == TEXTS[0]
        if insert:
            assert len(re.findall(r"# (?=\w)", again)) == 4
    assert blanked("...", insert, 0.5, random.Random(0)) == contextual.Blank(["..."], [])
    assert len(blanked("one two", insert, 0.3, random.Random(0)).replaced) == 1
    assert len(blanked("w " * 100, insert, 0.3, random.Random(0)).replaced) == 10


def naive_proposal(model, tokenizer, sentence, insert, rate, seed):
    """One sentence by string surgery: mask, look at the logits word by word, take the best of
    probability and noise."""
    spans = [m.span() for m in WORD.finditer(sentence)]
    count = min(10, -int(-rate * len(spans) // 1), len(spans))
    masked = sentence
    old = []
    for start, stop in sorted(random.Random(seed).sample(spans, count), reverse=True):
        masked = masked[:start] + "[MASK]" + (" " + masked[start:] if insert else masked[stop:])
        old.insert(0, None if insert else sentence[start:stop].lower())
    ids = tokenizer(masked)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    uniform = torch.rand((count, LIKELIEST_WORDS), generator=torch.Generator().manual_seed(seed))
    vocabulary = {i: word for word, i in tokenizer.get_vocab().items()}
    places = [i for i, token in enumerate(ids) if token == tokenizer.mask_token_id]
    for number, place in enumerate(places):
        order = logits[place].argsort(descending=True).tolist()
        words = [i for i in order if re.fullmatch("[a-z]+", vocabulary[i])]
        ranked = [i for i in words if vocabulary[i] != old[number]][:LIKELIEST_WORDS]
        probability = logits[place][ranked].softmax(0)
        best = int((probability.log() - torch.log(-torch.log(uniform[number]))).argmax())
        masked = masked.replace("[MASK]", vocabulary[ranked[best]], 1)
    return masked


@pytest.mark.parametrize("kind", ["contextual_insert", "contextual_substitute"])
def test_proposed_words_against_a_second_formulation(kind, demo):
    insert = kind == "contextual_insert"
    for seed, sentence in enumerate(TEXTS[:2] + TEXTS[3:]):
        for rate in (0.3, 0.7):
            text = TextView(kind=kind, model="encoder", rate=rate)
            (found,) = proposed(*demo, [sentence], text, seed)
            assert found == naive_proposal(*demo, sentence, insert, rate, seed) != sentence


def test_batching_does_not_mix_sentences_up(demo, monkeypatch):
    model, tokenizer = demo
    text = TextView(kind="contextual_substitute", model="encoder")
    # without chance, each sentence's words are its own whatever stands beside it
    monkeypatch.setattr(contextual, "LIKELIEST_WORDS", 1)
    monkeypatch.setattr(contextual, "SENTENCES_AT_ONCE", 7)
    texts = [
        f"The {word} slept in the garden." * (1 + i % 3)
        for i, word in enumerate(["king", "old nurse", "dog"] * 8)
    ]
    together = proposed(model, tokenizer, texts, text, 4)
    places = random.Random(4)
    choice = Choice(tokenizer, CPU)
    for sentence, found in zip(texts, together, strict=True):
        blank = blanked(sentence, False, 0.3, places)
        alone = contextual.fill(model, tokenizer, [blank], choice, torch.Generator())
        assert found == blank.filled(alone[0])
    # a mask of the sentence's own would be taken for one of ours
    for left in ("...", "A [MASK] stood in the text."):
        assert proposed(model, tokenizer, [left], text, 4) == [left]


def test_masks_beyond_the_model_s_length_are_dropped(demo):
    model, tokenizer = demo
    sentence = " ".join(["the dog slept"] * 40)  # 120 words, the demo encoder has 64 positions
    for kind in ("contextual_insert", "contextual_substitute"):
        text = TextView(kind=kind, model="encoder")
        (found,) = proposed(model, tokenizer, [sentence], text, 1)
        assert "[MASK]" not in found and found.endswith("the dog slept")
        assert 120 <= len(found.split()) <= 130 and found != sentence


def test_pickled_weights_are_read_as_tensors_alone(demo, tmp_path):
    class Code:
        def __reduce__(self):
            return (tmp_path / "sprung").touch, ()

    shutil.copytree(DEMO_ENCODER, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    weights = load_file(DEMO_ENCODER / "model.safetensors")
    torch.save(weights, tmp_path / "model" / "pytorch_model.bin")
    loaded, _ = load_model(tmp_path / "model", "masked words", CPU)
    assert all(map(torch.equal, loaded.parameters(), demo[0].parameters()))
    torch.save({"x": Code()}, tmp_path / "model" / "pytorch_model.bin")
    with pytest.raises(UserError, match="The model for masked words in .* cannot be loaded"):
        load_model(tmp_path / "model", "masked words", CPU)
    assert not (tmp_path / "sprung").exists()


def test_a_roberta_checkpoint_proposes_its_own_words(tmp_path):
    """Its words are those behind a blank."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*special, "Ġking", "Ġslept", "Ġhere", "Ġtoday", "slept", "<mask>"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    ends = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=ends)
    names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    mask = AddedToken("<mask>", lstrip=True)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token=mask, **names)
    fast.save_pretrained(tmp_path)
    sizes = tiny_checkpoint.SIZES | {"vocab_size": len(pieces), "max_position_embeddings": 12}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = RobertaConfig(pad_token_id=1, type_vocab_size=1, **sizes)
        RobertaForMaskedLM(config).save_pretrained(tmp_path)
    model, loaded = load_model(tmp_path, "masked words", CPU)
    text = TextView(kind="contextual_substitute", model="encoder", rate=1.0)
    for seed in range(20):
        found = proposed(model, loaded, ["king slept, here", "king " * 10], text, seed)
        assert re.fullmatch(r"(slept|here|today) (king|here|today), (king|slept|today)", found[0])
        # ten places, two of them special tokens'
        assert [word == "king" for word in found[1].split()] == [False] * 8 + [True] * 2
