"""The report of an evaluation: one self-contained HTML page, PNG figures, JSON and CSV.

Everything in it is a function of the results: no clock, no machine, no order of arrival, so that the same results make
the same page. It computes no rate of its own.
"""
