#!/usr/bin/env bash
# The paper's finding in the toy world, with seeds: BaseRL against PatternRL, and two arms that say what the effect rests on.
# Run by `make miniature` inside a cluster (launch.local_cluster). Eight runs; the same command goes on after an interruption.
set -euo pipefail

submit=(python -m launch.submit --multirun experiment=miniature sweep.name=miniature)
# choice() makes a setting part of the point's name, also where there is one value.
"${submit[@]}" 'reward_mix=choice(base_rl,pattern_rl)' 'seed=choice(0,1,2)'
"${submit[@]}" 'reward_mix=choice(pattern_rl)' 'reward_mix.gate.scope=choice(group)' 'seed=choice(0)'
"${submit[@]}" 'reward_mix=choice(pattern_rl)' 'algorithm.norm_adv_by_std_in_grpo=choice(false)' 'seed=choice(0)'
python -m launch.sweep_report "${PATTERNRL_RUNS:-outputs}/miniature"
