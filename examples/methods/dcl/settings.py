"""Decoupled contrastive loss (Yeh et al. 2022): SimCSE without the positive pair among the
negatives."""

from core.config.methods import Derived

METHOD = Derived("simcse", title="DCL")
