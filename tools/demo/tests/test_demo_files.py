"""The makers of the demo's text, pairs and labelled sentences still make what core/assets/demo ships."""

from core.data.text import DEMO_FOLDER, text_bytes
from tools.demo.files import contents
from tools.demo.frame import PERSONS
from tools.demo.probes import probe


def test_the_makers_make_the_shipped_files():
    made = contents()
    assert {f"{name}.gz" for name in made} == {path.name for path in DEMO_FOLDER.glob("*.gz")}
    for name, text in made.items():
        assert text_bytes(DEMO_FOLDER / f"{name}.gz") == text.encode(), name


def test_labels_say_what_the_sentence_says():
    for sentence, label in probe("Negation")["train"]:
        denied = any(f" {word} " in f" {sentence.lower()} " for word in ("not", "never", "failed"))
        assert denied == bool(label), sentence
    court, sea = (
        [form for concept in PERSONS[topic] for form in concept.forms] for topic in ("court", "sea")
    )
    active = passive = 0
    for sentence, label in probe("Roles")["train"]:
        words = sentence.lower().strip(".").split()
        first = min(
            (words.index(noun), label_)
            for label_, nouns in ((1, court), (0, sea))
            for noun in nouns
            if noun in words
        )[1]
        if any(f" by {article} " in sentence for article in ("the", "a", "an")):
            passive += 1
            assert first != label, sentence
        elif (
            not sentence.startswith(("It was", "The one", "It is"))
            and " one who " not in sentence
            and "it was" not in sentence
        ):
            active += 1
            assert first == label, sentence
    assert active > 60 and passive > 40  # the order of the words alone does not tell
