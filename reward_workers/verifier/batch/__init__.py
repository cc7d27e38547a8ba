"""The command `python -m reward_workers.verifier`: files of cases in, files of verdicts out, rules on several cores."""
