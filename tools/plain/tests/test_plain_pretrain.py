"""The script that makes the plain encoder: its batches, and a folder that a run can start from."""

import csv
import sys

import torch

from core.evaluation.encoding import load_checkpoint
from tools.plain.pretrain import LENGTHS, batches, by_length, main
from tools.pretraining import PAD, SPECIALS

NOUNS = "river stone letter garden window bridge market winter doctor island".split()
VERBS = "carries follows remembers crosses".split()


def test_a_pass_has_every_sentence_once_in_batches_of_one_length():
    sentences = [[5 + i] * (1 + i % 40) for i in range(200)]
    groups = by_length(sentences, "cpu")
    assert [group.shape[1] for group in groups] == [16, 24, 32, 40]
    number = sum(-(-len(group) // (128 // group.shape[1])) for group in groups)
    stream = batches(groups, 128, torch.Generator().manual_seed(0))
    passes = [[next(stream) for _ in range(number)] for _ in range(2)]
    for each in passes:
        assert all(ids.numel() <= 128 and ids.shape[1] in LENGTHS for ids in each)
        rows = [[place for place in row if place != PAD] for ids in each for row in ids.tolist()]
        assert sorted(rows) == sorted(sentences)
    first, second = ([row[0] for ids in each for row in ids.tolist()] for each in passes)
    assert first != second


def test_the_script_writes_a_folder_that_a_run_can_start_from(tmp_path, monkeypatch, capsys):
    text = tmp_path / "text.txt"
    lines = [f"The {a} {verb} the {b}." for a in NOUNS for b in NOUNS for verb in VERBS]
    text.write_text("\n".join(lines))
    shape = "--layers 2 --width 16 --heads 2 --inner 32".split()
    short = "--steps 30 --places 256 --sentences 300".split()
    a = str(tmp_path / "a")
    for more in (["--out", a], ["--out", str(tmp_path / "b"), "--tokenizer", a]):
        monkeypatch.setattr(sys, "argv", ["pretrain", "--text", str(text), *shape, *short, *more])
        main()
    files = [tmp_path / name / "model.safetensors" for name in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()
    (row,) = csv.DictReader((tmp_path / "a" / "losses.csv").open())
    assert row["step"] == "30" and 0 < float(row["held_out"]) < 10
    checkpoint = load_checkpoint(tmp_path / "a")
    assert checkpoint.max_length == 128
    pieces = checkpoint.tokenizer.convert_ids_to_tokens(range(len(SPECIALS)))
    assert tuple(pieces) == SPECIALS
