"""A kept model as teacher: its cosines between the sentences of a batch are approached."""

import torch
import torch.nn.functional as F

from core.data.encoders import encoder_digest
from core.encoder.pooling import Encoded
from core.errors import UserError
from core.evaluation.encoding import load_checkpoint
from core.methods.losses import info_nce
from core.methods.simcse.model import Views

from .settings import FOLDER


class Model(Views):
    def build(self):
        if encoder_digest(FOLDER) != self.config.teacher.content:
            raise UserError(f"The teacher in {FOLDER} is another; plan the run again.")
        self.teacher = load_checkpoint(FOLDER).encoder.requires_grad_(False)

    def contrast(self, first, second):
        return info_nce(first, second, None, temperature=self.config.loss.temperature)

    def extra(self, batch):
        with torch.no_grad():
            vectors = Encoded(self.teacher, batch).first.float()
        wanted, _ = F.normalize(vectors, dim=1).chunk(2)  # (B, hidden)
        first, second = (F.normalize(view, dim=1) for view in self.pooled_views)
        distance = F.mse_loss(first @ second.T, wanted @ wanted.T)
        return {"distance": self.config.teacher.weight * distance}
