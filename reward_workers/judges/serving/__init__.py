"""The servers of the judges that a job runs itself: `vllm serve` replicas on Ray, their health, and where they listen.

Asks no judge anything about a rollout.
"""
