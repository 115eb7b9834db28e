"""Methods, each a folder that is found by being there: `settings.py` says what its runs are and
states METHOD (`core.config.methods.Method`) without torch; `model.py` trains them, and states Model
(`core.methods.contrastive.Contrastive`). Nothing else names a method."""
