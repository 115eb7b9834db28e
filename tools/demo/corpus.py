"""The training text of the demo scale: distinct sentences for contrastive training, and passages for pretraining."""

from collections.abc import Iterator
from random import Random

from tools.demo.frame import Frame, draw, reserved
from tools.demo.grammar import Wording, render


def scenes(rng: Random) -> Iterator[Frame]:
    """Yield random frames for ever, without the events that are reserved for evaluation."""
    while True:
        frame = draw(rng)
        if not reserved(frame):
            yield frame


def training_sentences(n: int, seed: int = 0, plain: float = 0.0) -> list[str]:
    """Return n distinct sentences, the same for the same n and seed; a longer list begins with a shorter one.

    plain: the share in the plain order (see `grammar.render`). None by default: with every pattern in the text, what a
    sentence says tells it from others better than how it is put, and runs agree more.
    """
    rng = Random(f"demo training text {seed}")
    sentences: dict[str, None] = {}
    for frame in scenes(rng):
        if len(sentences) >= n:
            break
        sentences[render(rng, frame, plain=plain)] = None
    return list(sentences)


def thinned(rng: Random, frame: Frame, keep: float = 0.8) -> Frame:
    """Return the frame with each circumstance kept with probability `keep`: the same scene, told in less detail."""
    return frame._replace(
        place=frame.place if rng.random() < keep else None,
        time=frame.time if rng.random() < keep else None,
        manner=frame.manner if rng.random() < keep else None,
    )


def passages(seed: int, same: float = 0.8) -> Iterator[tuple[str, str]]:
    """Yield pairs of sentences for ever; with probability `same` both tell the same scene.

    Half of these repeat the first sentence's words, so that what is masked in one can be read in the other; the rest draw
    their synonyms anew, so that synonyms are learned as such.
    """
    rng = Random(f"demo passages {seed}")
    stream = scenes(rng)
    while True:
        first = next(stream)
        wording: Wording = {}
        text = render(rng, first, wording=wording)
        second = thinned(rng, first) if rng.random() < same else next(stream)
        yield text, render(rng, second, wording=wording if rng.random() < 0.5 else None)
