"""Readers of written values: numbers, fractions, units, intervals, matrices, equations, expression trees."""
