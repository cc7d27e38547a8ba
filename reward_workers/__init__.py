"""Reward workers: verdict, labels, gate and mix of each rollout, and the judges that they ask.

Data flows one way: visible response -> verdict -> labels -> reward. This package never imports `trainer`.
"""
