"""Importing this module is the setting `policy.freeze_vision_tower=true`.

verl imports `actor_rollout_ref.model.external_lib` in each worker process when it reads the model's configuration
(verl 0.9.1, workers/config/model.py:149), before a model is built; there is no other way into those processes.
"""

from rollout_workers.freeze_vision import install

install()
