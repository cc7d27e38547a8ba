"""The driver's own logic."""

from trainer.frame.run import merge_runtime_env


def test_every_key_of_the_users_runtime_env_counts():
    stock = {"working_dir": None, "env_vars": {"NCCL_DEBUG": "WARN", "TOKENIZERS_PARALLELISM": "true"}}
    given = {"working_dir": "s3://code.zip", "pip": ["x"], "env_vars": {"TOKENIZERS_PARALLELISM": "false", "A": "1"}}
    assert merge_runtime_env(stock, given) == {
        "working_dir": "s3://code.zip",
        "pip": ["x"],
        "env_vars": {"NCCL_DEBUG": "WARN", "TOKENIZERS_PARALLELISM": "false", "A": "1"},
    }
    assert merge_runtime_env(stock, {}) == stock
