"""The GRPO job: configuration and its checks, entry point, task runner, metrics.

Starts verl's trainer with this project's reward workers and rollout workers; it never rewrites verl's training loop.
"""
