"""The terms of the reward: each is a summand or a factor, with the judge it asks and the record fields it fills.

    verifier_term   s_ver: is the answer right
    pattern_term    s_pat: what the response patterns cost

A further term is a file here, an entry in `build.build_terms`, its settings in
`foundation.settings.sections.RewardMix`, and its metrics in `foundation.runs.step_metrics.PARTS`.
"""
