"""sentence-transformers' own trainer on the same encoder, sentences, batch and steps, beside ours as SimCSE
and as MoCoSE: `python -m benchmarks.peer`.

Its recipe for unsupervised SimCSE: each sentence paired with itself, MultipleNegativesRankingLoss at scale
20, mean pooling replaced by [CLS].
"""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import islice, pairwise

import torch

from benchmarks.setting import Measured, Setting, alternated, main, now
from benchmarks.step import OurTraining
from core.data.text import training_text
from core.engine.trainer import batch_indices
from core.spec.errors import UserError
from core.spec.run import RunConfig


class PeerTraining:
    """The peer's trainer over the sentences that ours gets, in the same batches."""

    def __init__(self, setting: Setting, config: RunConfig, dropout: float):
        os.environ["WANDB_DISABLED"] = "true"
        try:
            from datasets import Dataset, disable_progress_bars
            from sentence_transformers import SentenceTransformer, SentenceTransformerModelCardData
            from sentence_transformers.losses import MultipleNegativesRankingLoss
            from sentence_transformers.models import Pooling, Transformer
        except ImportError as error:
            raise UserError(
                f"{error.name} is missing; pip install -r benchmarks/requirements.txt."
            ) from error
        disable_progress_bars()
        self.setting, self.config = setting, config
        words = Transformer(str(setting.folder), max_seq_length=config.data.max_length)
        words.float()  # whatever type the encoder's file has
        for module in words.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = dropout
        self.model = SentenceTransformer(
            modules=[words, Pooling(config_hidden(words), pooling_mode="cls")], device=str(setting.device),
            model_card_data=SentenceTransformerModelCardData(generate_widget_examples=False),
        )  # fmt: skip
        self.loss = MultipleNegativesRankingLoss(self.model, scale=1.0 / config.loss.temperature)
        self.texts = training_text(config.data, setting.execution.corpus_path)
        self.order = batch_indices(config, len(self.texts))
        self.dataset = Dataset

    def block(self, steps: int) -> list[float]:
        """Seconds of each of `steps` steps after one that is not counted, collation and tokenisation
        included, as its trainer does them."""
        from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        from transformers import PrinterCallback, TrainerCallback

        stamps: list[float] = []
        device = self.setting.device

        class Clock(TrainerCallback):
            def on_step_begin(self, args, state, control, **_):
                stamps.append(now(device))

            def on_train_end(self, args, state, control, **_):
                stamps.append(now(device))

        chosen = [self.texts[i] for indices in islice(self.order, steps + 2) for i in indices]
        train = self.config.train
        with tempfile.TemporaryDirectory() as folder:
            arguments = SentenceTransformerTrainingArguments(
                output_dir=folder, max_steps=steps + 2, per_device_train_batch_size=train.batch_size,
                learning_rate=train.learning_rate, weight_decay=train.weight_decay,
                max_grad_norm=train.clip_norm, save_strategy="no", logging_strategy="no", report_to=[],
                use_cpu=device.type == "cpu",
                disable_tqdm=True, dataloader_drop_last=True, bf16=train.precision == "bf16",
            )  # fmt: skip
            trainer = SentenceTransformerTrainer(
                model=self.model, args=arguments, loss=self.loss, callbacks=[Clock()],
                train_dataset=self.dataset.from_dict({"anchor": chosen, "positive": chosen}),
            )  # fmt: skip
            trainer.remove_callback(PrinterCallback)
            trainer.train()
        torch.set_num_threads(self.setting.threads)
        return [after - before for before, after in pairwise(stamps[1:-1])]


def config_hidden(words) -> int:
    """The width of the peer's token vectors, by whichever name its version has for it."""
    named = getattr(words, "get_embedding_dimension", None) or words.get_word_embedding_dimension
    return named()


def rows(setting: Setting, rounds: int, steps: int) -> Measured:
    """The peer's step over ours, as SimCSE (its own work) and as MoCoSE (a target branch, a queue and EMA
    more)."""
    simcse = setting.config("simcse", train__precision="fp32")
    blocks = {
        "ours, SimCSE": OurTraining(setting, simcse).block,
        "ours, MoCoSE": OurTraining(setting, setting.mocose()).block,
        "sentence-transformers, SimCSE": PeerTraining(setting, simcse, simcse.encoder.hidden_dropout).block,
    }
    torch.set_num_threads(setting.threads)
    seconds = alternated(blocks, rounds, steps)
    for name, value in seconds.items():
        yield name, 1e3 * value, "ms"
    *ours, theirs = seconds
    for name in ours:
        yield f"{theirs} / {name}", seconds[theirs] / seconds[name], "x"


if __name__ == "__main__":
    sys.exit(main(rows, __doc__))
