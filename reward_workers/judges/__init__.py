"""The judges: prompts, clients, parsers and servers of the two models that score what rules cannot.

PatternRM labels the response patterns; the fallback judge decides whether an extracted answer means the same as
the reference. This part never turns a failed call into a score: what could not be read is unscored, with a reason.
"""
