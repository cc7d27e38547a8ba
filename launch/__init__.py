"""From a laptop to a cluster: submission of jobs and sweeps, their state, reports, and manifests of clusters.

Composes and checks through `trainer`, and runs nothing itself: a job is `python -m trainer.main` on the cluster.
"""
