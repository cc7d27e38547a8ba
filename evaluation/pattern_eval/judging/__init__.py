"""Judging of generations: correctness, the four labels by several judges, their agreement and evidence."""
