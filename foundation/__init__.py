"""The ground floor: what every part shares, and nothing that needs a GPU library.

settings/   what reads and checks a configuration
responses/  what a model's text consists of: families, thinking modes, channels, markers
runs/       what a run leaves: its folder, typed records, metrics, statistics, summary

Imports no other part of the project, and neither torch, ray, verl nor vLLM (tests/test_layers.py).
"""
