"""What the plan says of the demo without generating it is what the engine generates."""

import hashlib

from core.data import pins
from core.data.sts import load_demo, sets_digest
from core.data.transfer import load_probes, probes_digest
from core.demo.corpus import training_sentences
from core.spec.scale import DEMO


def test_the_training_text_is_the_pinned_one():
    text = "\n".join(training_sentences(pins.DEMO_CORPUS_ROWS))
    assert hashlib.sha256(text.encode()).hexdigest() == pins.DEMO_CORPUS_DIGEST
    assert pins.DEMO_CORPUS_ROWS >= DEMO.steps * DEMO.batch_size


def test_the_graded_pairs_are_the_pinned_ones():
    sets = load_demo()
    assert sets_digest(sets) == pins.DEMO_EVALUATION_DIGEST
    assert set(sets) == {DEMO.dev, *DEMO.tests}


def test_the_labelled_sentences_are_the_pinned_ones():
    assert probes_digest(sets_digest(load_demo()), load_probes()) == pins.DEMO_TRANSFER_DIGEST
