"""The builder of the English text, on two git repositories that the test makes."""

import hashlib
import subprocess
from dataclasses import replace

import pytest

from core.errors import UserError
from tools.english.__main__ import build, main
from tools.english.sources import Source

MODULE = """<document xmlns="http://cnx.rice.edu/cnxml">
<title>No sentence of the text at all.</title>
<metadata><para>The metadata are never read by anyone here.</para></metadata>
<content>
<section><title>Left out since no title is a paragraph.</title>
<para id="a">Rivers carry sand to the sea. Dr. Brown measured
this with <emphasis>great</emphasis> care in 1901.<footnote>A footnote is left out of it.</footnote>
Too short. The speed <m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mi>v</m:mi></m:math>
is what we want here. See <link target-id="b"/> for all of the proof.</para>
<note><para>“Ice is a mineral,” says the book (and most geologists). It said so,and says
so , in every edition.</para></note>
<exercise><para>How far does the sand travel in a year?</para></exercise>
<para>There are lists:<list><item>The first item is a sentence too.</item></list></para>
</section>
</content></document>"""
SENTENCES = [
    "Rivers carry sand to the sea.",
    "Dr. Brown measured this with great care in 1901.",
    "“Ice is a mineral,” says the book (and most geologists).",
    "The first item is a sentence too.",
]
TABLE = (
    "He does n't know ( or care ) who won .\tHe does n't know . <::::> He does n't care .\n"
    "Rivers carry sand to the Sea !\tRivers carry sand . <::::> It goes to the sea .\n"
)
OF_TABLE = ["He doesn't know (or care) who won."]


def repository(folder, files):
    """A git repository with these files in one commit, as a host serves it; its commit."""
    folder.mkdir(parents=True)

    def git(*words):
        run = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)
        return run.stdout.decode().strip()

    git("init", "--quiet")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    git("add", ".")
    git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "--message=All")
    git("config", "uploadpack.allowFilter", "true")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    return git("rev-parse", "HEAD")


def text(*sentences):
    return "".join(f"{sentence}\n" for sentence in sentences).encode()


def digest(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    return tmp_path_factory.mktemp("origin")


@pytest.fixture(scope="module")
def sources(origin):
    book = {
        "modules/m2/index.cnxml": MODULE.replace("Rivers carry", "Winds carry"),
        "modules/m1/index.cnxml": MODULE,
        "media/picture.jpg": "a large picture\n",
    }
    winds = "Winds carry sand to the sea."
    of_book = text(*SENTENCES, winds, *SENTENCES[1:])
    last = "Rivers carry sand to the Sea!"
    pairs = repository(origin / "b/pairs", {"tune.tsv": TABLE, "train.tsv": TABLE * 9})
    return [
        Source("a/book", repository(origin / "a/book", book), "*.cnxml", "", 8, digest(of_book)),
        Source("b/pairs", pairs, "tune.tsv", "", 2, digest(text(*OF_TABLE, last))),
    ]


def test_the_text_has_each_sentence_once_by_its_digest_of_files_that_alone_are_fetched(
    origin, sources, tmp_path
):
    found = build(tmp_path / "out", sources, f"file://{origin}")
    every = [*SENTENCES, "Winds carry sand to the sea.", *OF_TABLE]
    expected = text(*sorted(every, key=lambda sentence: digest(sentence.encode())))
    assert (tmp_path / "out/english.txt").read_bytes() == expected
    assert found == digest(expected)
    folder = tmp_path / "out/sources/b+pairs"
    words = ["git", "-C", folder, "rev-list", "--objects", "--missing=print", sources[1].commit]
    objects = subprocess.run(words, check=True, capture_output=True).stdout.decode()
    assert objects.count("?") == 1 and "tune.tsv" in objects  # the other is train.tsv


def test_a_build_that_was_broken_off_goes_on_with_what_is_there(origin, sources, tmp_path):
    other = tmp_path / "other"
    for folder, wrong in ((other, {"sha256": "0" * 64}), (tmp_path, {"commit": "0" * 40})):
        with pytest.raises(UserError, match="b/pairs") as error:
            build(folder, [sources[0], replace(sources[1], **wrong)], f"file://{origin}")
        assert "a/book" not in str(error.value)
        assert not (folder / "english.txt").exists()
    (tmp_path / "sources/b+pairs.part/left").write_text("by a process that was killed")
    second = tmp_path / "second"  # has no first source, which is not fetched again
    second.mkdir()
    (second / "b").symlink_to(origin / "b")
    build(tmp_path, sources, f"file://{second}")
    assert len((tmp_path / "english.txt").read_text().splitlines()) == 6
    assert sorted(path.name for path in (tmp_path / "sources").iterdir()) == ["a+book", "b+pairs"]


def test_the_command_ends_with_status_2_without_a_source(tmp_path):
    assert main([str(tmp_path), "--from", f"file://{tmp_path}/nowhere"]) == 2


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path, capsys):
    (tmp_path / "OUT").write_text("a file")
    assert main([str(tmp_path / "OUT")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "OUT" in told and "Not a directory" in told
