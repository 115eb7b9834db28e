"""The triplet loss: equation 3 of Schroff et al. 2015, with the text's columns as triplets."""

import torch.nn.functional as F

from core.methods.simcse.model import Views


class Model(Views):
    """The views of a sentence are the columns of the training text: --text FILE?columns=a,b,c."""

    capturable = True

    def contrast(self, sentence, positive, negative):
        sentence, positive, negative = (F.normalize(x) for x in (sentence, positive, negative))
        near = (sentence - positive).pow(2).sum(1)  # (B,)
        far = (sentence - negative).pow(2).sum(1)
        return F.relu(near - far + self.config.triplet.margin).mean()
