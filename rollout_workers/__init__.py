"""Rollout workers: mode switch, channel splitter, agent loop, frozen vision tower.

They turn a prompt with images into rollouts and say which part of a rollout the user sees.
They never score a rollout; that is `reward_workers`.
"""
