"""A model's text: which family writes what, how a mode is asked for, and what of it the user sees.

The one place that knows the visible response; it judges nothing.
"""
