"""Reads and checks configuration: composition with Hydra, typed sections, keys of verl, sizes that must divide.

Every default stands in `configs/`; nothing here has one. Starts nothing and asks nobody.
"""
