"""The rules: what a response's last box says against the reference, decided without a symbolic library.

Pure and synchronous; what the rules cannot decide stays open. `notation/` reads what is written, the files here
compare.
"""
