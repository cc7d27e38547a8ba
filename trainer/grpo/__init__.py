"""GRPO on verl's V1 trainer: task runner, reward components, weight schedules, paired evaluation, rollout table."""
