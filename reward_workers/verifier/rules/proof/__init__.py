"""Expressions and equations that our own trees decide, without the symbolic library: equal, different, or left to it."""
