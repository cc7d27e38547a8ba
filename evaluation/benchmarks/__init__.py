"""General benchmarks (Table 6): ten public benchmarks, run by lmms-eval against our endpoint, and one table.

    python -m evaluation.benchmarks model=qwen3_vl_8b engine.python=/path/of/lmms-eval/bin/python

lmms-eval asks, scores and downloads the data; this part starts the model, runs one benchmark after the other, and reads
what came out. It scores nothing itself.
"""
