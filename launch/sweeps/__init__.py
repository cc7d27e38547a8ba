"""Sweeps: Hydra's points as jobs, their manifest and scheduler, and the report that compares them."""
