"""GPUs asked for against GPUs given: policy, PatternRM and the fallback judge on the nodes of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.settings import Settings


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
    unplaced = _first_that_does_not_fit(taken, [float(cluster.gpus_per_node)] * cluster.nodes)
    if unplaced is not None:
        return [
            f"{arithmetic}, {offer}, but a block of {unplaced.gpus:g} GPUs of {unplaced.name} finds no node with as "
            f"many free: change {keys}"
        ]
    return []


def _first_that_does_not_fit(taken: list[Role], free: list[float]) -> Role | None:
    """Places the blocks, largest first, each on the fullest node that holds it; policy blocks on distinct nodes.

    Best fit can miss a packing that exists only where block sizes do not divide each other; then the message is
    conservative.
    """
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
