"""Folders of sentence-transformers: read by it where it is installed; otherwise read as far as `AutoModel` goes, or refused."""

import json

import numpy as np
import pytest
import tiny_checkpoint

from core.engine.evaluation import command, encoding
from core.engine.evaluation.encoding import installed, stated
from core.spec.errors import UserError


def listed(*kinds):
    """`modules.json` with these modules behind one another."""
    paths = ["", *(f"{i}_{kind}" for i, kind in enumerate(kinds[1:], start=1))]
    return json.dumps([
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ])  # fmt: skip


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)


MEAN = {"1_Pooling/config.json": '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true}'}
PLAIN = {"modules.json": listed("Transformer", "Pooling"), **MEAN}


def test_a_folder_s_own_pooling_and_length_are_used(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(encoding, "installed", lambda: False)
    folder = tiny_checkpoint.bert(tmp_path)
    assert command.main([str(folder), "--scale", "demo"]) == 0
    plain = capsys.readouterr().out
    assert "Pooling cls, since the folder names none" in plain
    write(folder, {**PLAIN, "sentence_bert_config.json": '{"max_seq_length": 9, "do_lower_case": false}'})
    assert command.main([str(folder), "--scale", "demo"]) == 0
    own = capsys.readouterr().out
    assert "Pooling mean, as the folder says." in own and "cut at 9 tokens" in own
    assert command.main([str(folder), "--scale", "demo", "--pooling", "cls"]) == 0
    asked = capsys.readouterr().out
    assert "Pooling cls, as asked." in asked and asked.splitlines()[3:-1] == plain.splitlines()[3:-1] != own.splitlines()[3:-1]


@pytest.mark.parametrize("files, sentence", [
    ({"modules.json": listed("Transformer", "Pooling", "Normalize")}, r"states the module Normalize, .* \[evaluate\]"),
    ({"modules.json": listed("Transformer", "Pooling", "Dense")}, r"states the module Dense, .* \[evaluate\]"),
    ({"modules.json": listed("Transformer")}, r"states the pooling none, .* \[evaluate\]"),
    ({"1_Pooling/config.json": '{"pooling_mode_max_tokens": true}'}, "states the pooling pooling_mode_max_tokens"),
    ({"1_Pooling/config.json": '{"pooling_mode": "lasttoken"}'}, "states the pooling lasttoken"),
    ({"1_Pooling/config.json": '{"pooling_mode": ["cls", "mean"]}'}, "states the pooling cls and mean"),
    ({"sentence_bert_config.json": '{"do_lower_case": true}'}, "states do_lower_case"),
    ({"config_sentence_transformers.json": '{"default_prompt_name": "query"}'}, "states a default prompt"),
    ({"1_Pooling/config.json": "3"}, "cannot be read"),
    ({"modules.json": "{"}, "cannot be read"),
    ({"modules.json": '[{"type": 3}]'}, "cannot be read"),
    ({"modules.json": "[]"}, "states no encoder in the folder itself"),
    ({"modules.json": listed("WordEmbeddings", "Pooling")}, "states the module WordEmbeddings"),
    ({"modules.json": listed("Transformer", "Pooling").replace('"path": ""', '"path": "0_Transformer"')}, "states no encoder in"),
])  # fmt: skip
def test_what_automodel_would_leave_out_is_refused_in_one_sentence(files, sentence, tmp_path):
    write(tmp_path, PLAIN | files)
    with pytest.raises(UserError, match=sentence) as caught:
        stated(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not installed(), reason="sentence-transformers is not installed (requirements-evaluate.txt)")
def test_sentence_transformers_reads_its_own_folders(tmp_path, capsys):
    """With Dense and Normalize; the same vectors as the library gives by itself."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers import models as parts

    bert = parts.Transformer(str(tiny_checkpoint.bert(tmp_path / "bert")))
    pooling = parts.Pooling(16, pooling_mode="mean")
    model = SentenceTransformer(modules=[bert, pooling, parts.Dense(16, 4), parts.Normalize()], device="cpu")
    model.save(str(tmp_path / "whole"))
    encode, pooling, _ = command._encoder(command._parse([str(tmp_path / "whole")]))
    sentences = ["w1 w2 w3", "w4"]
    np.testing.assert_allclose(encode(sentences), model.encode(sentences), atol=1e-6)
    assert encode(sentences).shape == (2, 4) and pooling == "pooling, dense, normalize"
    assert "Pooling pooling, dense, normalize, as the folder says, by sentence-transformers." in capsys.readouterr().out
