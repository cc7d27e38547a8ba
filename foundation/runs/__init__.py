"""What a run or an evaluation leaves behind: folder, records, and every figure that is computed from them.

Plain functions of records: no process, no model, no network.
"""
