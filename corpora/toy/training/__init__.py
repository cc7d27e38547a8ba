"""The training of the three tiny models: `python -m corpora.toy.train` runs it."""
