"""Judging of generations: correctness, the labels by several judges, their agreement and evidence."""
