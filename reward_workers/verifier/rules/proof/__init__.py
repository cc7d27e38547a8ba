"""Expressions and equations that our own trees decide without the symbolic library, or leave to it."""
