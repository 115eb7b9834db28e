"""Methods, each a folder that is found by being there: `settings.py` says what its runs are, `model.py`
trains them.

`settings.py` defines METHOD (`core.spec.methods.Method`) and imports no torch. `model.py` defines two classes
that the job uses:

    Model(config, encoder, device)   an nn.Module with what `core.methods.contrastive.Contrastive` lists
    Views(config, text, device)      the arguments of `Model.loss` for each batch: `make(indices)`, and
                                     `skip(indices)` for steps done before

Adding a method is adding a folder. Nothing else names one.
"""
