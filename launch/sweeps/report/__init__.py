"""What a sweep showed: figures of its runs, means over seeds with their spread, pictures, one HTML file.

Reads manifests and the summaries of run folders; runs nothing and asks no cluster.
"""
