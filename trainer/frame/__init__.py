"""What every training job has, whatever it trains: driver, progress lines, watchdog, trackers, stop.

Knows no algorithm; `trainer.grpo` is one that stands on it.
"""
