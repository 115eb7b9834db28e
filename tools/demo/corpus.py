"""The training text of the demo scale: distinct sentences for contrastive training, and passages
for pretraining."""

from collections.abc import Iterator
from random import Random
from typing import Any

from tools.demo.frame import Frame, draw, reserved
from tools.demo.grammar import Wording, render


def scenes(rng: Random) -> Iterator[Frame]:
    """Yield random frames for ever, without the events that are reserved for evaluation."""
    while True:
        frame = draw(rng)
        if not reserved(frame):
            yield frame


def training_sentences(n: int) -> list[str]:
    """The first n distinct sentences, always the same.

    None is put in the plain order (see `grammar.render`): with every pattern in the text, what a
    sentence says tells it from others better than how it is put, and runs agree more.
    """
    rng = Random("demo training text 0")
    sentences = dict[str, None]()
    frames = scenes(rng)
    while len(sentences) < n:
        sentences[render(rng, next(frames))] = None
    return list(sentences)


def thinned(rng: Random, frame: Frame) -> Frame:
    """The frame with each circumstance kept in four cases of five: the same scene, told in less
    detail."""
    omitted: dict[str, Any] = {}
    for slot in ("place", "time", "manner"):
        if rng.random() >= 0.8:
            omitted[slot] = None
    return frame._replace(**omitted)


def passages(seed: int) -> Iterator[tuple[str, str]]:
    """Pairs of sentences for ever; in four cases of five both tell the same scene.

    Half of these repeat the first sentence's words, so that what is masked in one can be read in
    the other; the rest draw their synonyms anew, so that synonyms are learned as such.
    """
    rng = Random(f"demo passages {seed}")
    stream = scenes(rng)
    while True:
        first = next(stream)
        wording: Wording = {}
        text = render(rng, first, wording=wording)
        if rng.random() < 0.8:
            second = thinned(rng, first)
        else:
            second = next(stream)
        if rng.random() >= 0.5:
            wording = {}
        yield text, render(rng, second, wording=wording)
