"""GPUs asked for against GPUs given: the policy and the judges on the nodes of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.settings.run_settings import Settings

JUDGE_NODE = "judge_node"
"""Ray resource of the nodes that are kept for judges: a place a GPU."""


@dataclass(frozen=True, slots=True)
class Role:
    """What one role takes: `groups` blocks of `gpus` GPUs, each block on one node. `key` is what a user changes."""

    name: str
    groups: int
    gpus: float
    key: str

    @property
    def total(self) -> float:
        return self.groups * self.gpus

    def __str__(self) -> str:
        return f"{self.name} {self.groups} x {self.gpus:g} = {self.total:g}"


def roles(settings: Settings, policy_nodes: int, policy_gpus_per_node: int) -> list[Role]:
    """The roles of a run in the order of their placement; judges that someone else runs take nothing.

    Args:
        policy_nodes, policy_gpus_per_node: `trainer.nnodes` and `trainer.n_gpus_per_node`, the values that verl reads.
    """
    taken = [Role("policy", policy_nodes, policy_gpus_per_node, "cluster.policy")]
    for name, judge in settings.judges.items():
        if judge.serve is not None:
            # vLLM needs one whole GPU a tensor-parallel rank, so a replica is placed as a block.
            taken.append(
                Role(name, judge.serve.replicas, judge.serve.gpus_per_replica, f"judges.{name}.serve.replicas")
            )
    return taken


def check_gpus(settings: Settings, taken: list[Role]) -> list[str]:
    """GPUs that do not suffice, with the sum; empty when all fit or the cluster has no GPUs to count (device cpu)."""
    cluster = settings.cluster
    if cluster.device == "cpu":
        return []
    given = cluster.nodes * cluster.gpus_per_node
    asked = sum(role.total for role in taken)
    arithmetic = f"{' + '.join(str(role) for role in taken)}: {asked:g} GPUs asked"
    offer = f"{cluster.nodes} nodes x {cluster.gpus_per_node} = {given} given (cluster={cluster.name})"
    keys = ", ".join(role.key for role in taken if role.total)
    if asked > given:
        return [f"{arithmetic}, {offer}: lower {keys}, or choose a larger cluster"]
    if cluster.judge_nodes >= cluster.nodes:
        return [
            f"cluster.judge_nodes={cluster.judge_nodes} of {cluster.nodes} nodes leaves none for the policy: lower it"
        ]
    if cluster.judge_nodes == 0:
        return _unplaced(taken, cluster.nodes, cluster.gpus_per_node, f"{arithmetic}, {offer}", keys)
    policy, judges = taken[:1], taken[1:]
    left = cluster.nodes - cluster.judge_nodes
    split = f"{arithmetic}, {cluster.judge_nodes} of {cluster.nodes} nodes kept for judges (cluster.judge_nodes)"
    return [
        *_without_judge_node(settings),
        *_unplaced(policy, left, cluster.gpus_per_node, split, keys),
        *_unplaced(judges, cluster.judge_nodes, cluster.gpus_per_node, split, keys),
    ]


def _unplaced(taken: list[Role], nodes: int, gpus_per_node: int, what: str, keys: str) -> list[str]:
    unplaced = first_unplaced(taken, [float(gpus_per_node)] * nodes)
    if unplaced is None:
        return []
    return [
        f"{what}, but a block of {unplaced.gpus:g} GPUs of {unplaced.name} finds no node with as many free: "
        f"change {keys}"
    ]


def _without_judge_node(settings: Settings) -> list[str]:
    """Judges that nothing would keep on the nodes of judges."""
    return [
        f"judges.{name}.serve.resources has no {JUDGE_NODE}, and cluster.judge_nodes={settings.cluster.judge_nodes}: "
        f"it would take GPUs of the policy; add +judges.{name}.serve.resources.{JUDGE_NODE}=1"
        for name, judge in settings.judges.items()
        if judge.serve is not None and not judge.serve.resources.get(JUDGE_NODE)
    ]


def first_unplaced(taken: list[Role], free: list[float]) -> Role | None:
    """The role of the first block that finds no node, or None; `free` is the GPUs of each node.

    Places the blocks, largest first, each on the fullest node that holds it; policy blocks on distinct nodes.
    Best fit can miss a packing that exists only where block sizes do not divide each other; then the message is
    conservative.
    """
    free = list(free)
    for role in sorted(taken, key=lambda role: -role.gpus):
        used: set[int] = set()
        for _ in range(role.groups):
            nodes = [i for i, gpus in enumerate(free) if gpus >= role.gpus and i not in used]
            if not nodes:
                return role
            chosen = min(nodes, key=lambda i: free[i])
            free[chosen] -= role.gpus
            if role.name == "policy":
                used.add(chosen)
    return None
