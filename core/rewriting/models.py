"""Loading the models that rewrite text: from a folder, whole. Pickled weights are read as tensors
alone."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from torch import nn

from core.errors import UserError, refusing

Task = Literal["masked words", "continuation", "translation"]


def load_model(folder: Path, task: Task, device: torch.device) -> tuple[nn.Module, object]:
    """The model in this folder with the head for this task, in evaluation mode, and its tokenizer.

    Raises UserError if it cannot be loaded or lacks a weight of the head: `transformers` would fill
    that with random numbers.
    """
    from transformers import (
        AutoModelForCausalLM,
        AutoModelForMaskedLM,
        AutoModelForSeq2SeqLM,
        AutoTokenizer,
        logging,
    )

    # weights that are not used are reported otherwise; missing ones are refused below
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    classes = {
        "masked words": AutoModelForMaskedLM,
        "continuation": AutoModelForCausalLM,
        "translation": AutoModelForSeq2SeqLM,
    }
    with refusing(f"The model for {task} in {folder} cannot be loaded", "give or fetch it again"):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model, info = classes[task].from_pretrained(
            folder,
            local_files_only=True,
            weights_only=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    missing = sorted(info["missing_keys"])
    if missing:
        raise UserError(
            f"{folder} has no head for {task} (missing: {', '.join(missing[:1])}); give another "
            "model."
        )
    return model.eval().to(device), tokenizer
