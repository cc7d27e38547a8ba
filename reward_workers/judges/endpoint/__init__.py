"""One question to a judge's endpoints: client, retries, circuit breaker, memory, cache, and what the question cost.

Knows neither what is asked nor what an answer means.
"""
