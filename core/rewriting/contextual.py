"""Words that a masked-language model proposes, inserted into a sentence or put in place of its
words (Table 5, D27)."""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from core.methods.mocose.sections import TextView

SENTENCES_AT_ONCE = 64  # sentences; the same on every device, so that all draw alike
LIKELIEST_WORDS = 100  # nlpaug's default
MOST_PIECES = 10  # words a sentence, nlpaug's default; one at least, as it rounds up
WORD = re.compile(r"\w+(?:['’-]\w+)*")


class Blank(NamedTuple):
    """A sentence with masks: `parts` are what stands around them, `replaced` the word that each
    mask stands for, or "" where one is inserted."""

    parts: list[str]
    replaced: list[str]

    def filled(self, words: Sequence[str]) -> str:
        """The sentence with these words at its first masks; at the others what stood there."""
        text = self.parts[0]
        for i, word in enumerate(self.replaced):
            if i < len(words):
                # what is inserted needs a blank behind it
                word = words[i] if word else f"{words[i]} "
            text += word + self.parts[i + 1]
        return text


def proposed(model: Any, tokenizer, texts: Sequence[str], text: TextView, seed: int) -> list[str]:
    """The texts with words of the model's at `text.rate` of their words, 1 to 10 each, before them
    or in their place.

    All words of a sentence are asked for in one pass, while nlpaug fills one mask after the other
    (a guess that this matters little). Each is drawn by the model's probabilities among its 100
    likeliest whole words, never punctuation and never the word that it replaces. A mask beyond the
    model's length is dropped: the word stays, nothing is inserted. A sentence that holds the mask
    token itself is left alone. Places and words come from `seed`.
    """
    places = random.Random(seed)
    noise = torch.Generator().manual_seed(seed)
    insert = text.kind == "contextual_insert"
    blanks = [blanked(sentence, insert, text.rate, places) for sentence in texts]
    choice = Choice(tokenizer, model.device)
    # stable, so that little is padded
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    result = list(texts)
    for start in range(0, len(order), SENTENCES_AT_ONCE):
        wanted = []
        for i in order[start : start + SENTENCES_AT_ONCE]:
            if blanks[i].replaced and tokenizer.mask_token not in texts[i]:
                wanted.append(i)
        if not wanted:
            continue
        words = fill(model, tokenizer, [blanks[i] for i in wanted], choice, noise)
        for i, drawn in zip(wanted, words, strict=True):
            result[i] = blanks[i].filled(drawn)
    return result


def blanked(sentence: str, insert: bool, rate: float, stream: random.Random) -> Blank:
    """The sentence with its drawn words cut out, or with gaps before them; a sentence without words
    has none."""
    spans = [match.span() for match in WORD.finditer(sentence)]
    count = min(math.ceil(rate * len(spans)), MOST_PIECES)
    chosen = sorted(stream.sample(spans, count))
    parts = []
    replaced = []
    end = 0
    for start, stop in chosen:
        parts.append(sentence[end:start])
        if insert:
            replaced.append("")
            end = start
        else:
            replaced.append(sentence[start:stop])
            end = stop
    return Blank([*parts, sentence[end:]], replaced)


@torch.inference_mode()
def fill(
    model: Any, tokenizer, blanks: Sequence[Blank], choice: Choice, noise: torch.Generator
) -> list[list[str]]:
    """The words drawn for each sentence's masks, fewer than masks where the sentence was cut."""
    masked = [blank.filled([tokenizer.mask_token] * len(blank.replaced)) for blank in blanks]
    places = model.config.max_position_embeddings
    if model.config.model_type == "roberta":
        places -= model.config.pad_token_id + 1
    limit = min(tokenizer.model_max_length, places)
    encoded = tokenizer(
        masked, truncation=True, max_length=limit, padding=True, return_tensors="pt"
    ).to(model.device)
    is_mask = encoded["input_ids"] == tokenizer.mask_token_id  # (B, L)
    logits = model(**encoded).logits[is_mask].float()  # (masks, vocabulary)
    counts = is_mask.sum(1).tolist()
    originals: list[str] = []
    for blank, count in zip(blanks, counts, strict=True):
        originals += blank.replaced[:count]
    words = iter(choice.draw(logits, originals, noise))
    return [list(islice(words, count)) for count in counts]


class Choice:
    """Which of a vocabulary's pieces may be written as a word, and the drawing of one."""

    def __init__(self, tokenizer, device: torch.device):
        pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        mark = ""
        if any(piece.startswith("Ġ") for piece in pieces):
            mark = "Ġ"  # RoBERTa marks where words begin
        self.words = []
        for piece in pieces:
            self.words.append(piece.removeprefix(mark) if piece.startswith(mark) else "")
        # (vocabulary,)
        self.allowed = torch.tensor(
            [word.isalpha() and word.isascii() for word in self.words], device=device
        )
        self.spelt = defaultdict(list)
        for i, word in enumerate(self.words):
            self.spelt[word.lower()].append(i)

    def draw(self, logits: Tensor, originals: Sequence[str], noise: torch.Generator) -> list[str]:
        """A word for each row of logits (masks, vocabulary), by softmax among the 100 best that are
        allowed and not the original."""
        logits = logits[:, : len(self.words)].masked_fill(~self.allowed, float("-inf"))
        for row, word in enumerate(originals):
            if word and word.lower() in self.spelt:
                logits[row, self.spelt[word.lower()]] = float("-inf")
        best, pieces = logits.topk(min(LIKELIEST_WORDS, logits.shape[1]))  # (masks, 100)
        # argmax with it draws by softmax
        gumbel = -torch.rand(best.shape, generator=noise).clamp(min=1e-20).log().neg().log()
        chosen = (best + gumbel.to(best.device)).argmax(1, keepdim=True)
        return [self.words[i] for i in pieces.gather(1, chosen).squeeze(1).tolist()]
