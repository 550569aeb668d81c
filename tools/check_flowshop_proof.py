"""Check proof files of flowshops without Quintet: plain Python, its standard library, and the format in the guide.

    python tools/check_flowshop_proof.py samples/proofs/ta001.json [--nodes 20000] [--seed 873654221]

The digests, the schedule and the sum of the explored intervals are computed again. A tree of at most ``--nodes``
nodes is searched again as a whole; of a larger one, the recorded subtrees that are not larger. With ``--seed`` the
instance is made by Taillard's generator and compared. The exit code is 1 if a check fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import struct
import sys
from pathlib import Path


class Refuted(Exception):
    """A check failed; the message says which."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise Refuted(message)


def makespan(times: list[list[int]], order: list[int]) -> int:
    """C[i] = max(C[i - 1], C[i] of the job before) + p[i][j], machine by machine, job by job."""
    done = [0] * len(times)
    for job in order:
        at = 0
        for machine, row in enumerate(times):
            at = max(at, done[machine]) + row[job]
            done[machine] = at
    return done[-1]


def taillard(jobs: int, machines: int, seed: int) -> list[list[int]]:
    """Taillard 1993: x = 16807 x mod (2^31 - 1), and times 1 + floor(99 x / (2^31 - 1)), machine by machine."""
    times = []
    for _ in range(machines):
        row = []
        for _ in range(jobs):
            seed = 16807 * seed % (2**31 - 1)
            row.append(1 + 99 * seed // (2**31 - 1))
        times.append(row)
    return times


class Node:
    """A partial schedule: when each machine is done with its front, and how long it needs for its back."""

    def __init__(self, front: list[int], back: list[int], rest: list[int], first: list[int], last: list[int]) -> None:
        self.front, self.back, self.rest = front, back, rest
        self.first, self.last = first, last


class Tree:
    """The search tree of a proof: one-machine bound, branching rule ``min_branch``, children in order of the jobs."""

    def __init__(self, times: list[list[int]], initial: int, value: int) -> None:
        self.times, self.initial, self.value = times, initial, value
        self.machines, self.jobs = len(times), len(times[0])
        self.columns = [[row[job] for row in times] for job in range(self.jobs)]
        totals = [sum(row) for row in times]
        heads = [min(sum(column[:i]) for column in self.columns) for i in range(self.machines)]
        tails = [min(sum(column[i + 1 :]) for column in self.columns) for i in range(self.machines)]
        self.root = Node(heads, tails, totals, [], [])
        longest = max(sum(column) for column in self.columns)
        self.bound = max(longest, *(h + r + t for h, r, t in zip(heads, totals, tails, strict=True)))

    def children(self, node: Node) -> tuple[bool, list[int]]:
        """Whether the back is extended, and the jobs whose bounds are below the value."""
        placed = {*node.first, *node.last}
        jobs = [job for job in range(self.jobs) if job not in placed]
        after = [rest + back for rest, back in zip(node.rest, node.back, strict=True)]
        before = [rest + front for rest, front in zip(node.rest, node.front, strict=True)]
        front = [one_machine(self.columns[job], node.front, after) for job in jobs]
        back = [one_machine(self.columns[job][::-1], node.back[::-1], before[::-1]) for job in jobs]
        pruned = sum(bound >= self.initial for bound in front) - sum(bound >= self.initial for bound in back)
        at_back = pruned < 0 or (pruned == 0 and sum(front) < sum(back))
        bounds = back if at_back else front
        return at_back, [job for job, bound in zip(jobs, bounds, strict=True) if bound < self.value]

    def child(self, node: Node, job: int, at_back: bool) -> Node:
        column = self.columns[job]
        rest = [total - time for total, time in zip(node.rest, column, strict=True)]
        if at_back:
            back = advanced(node.back[::-1], column[::-1])[::-1]
            return Node(node.front, back, rest, node.first, [job, *node.last])
        return Node(advanced(node.front, column), node.back, rest, [*node.first, job], node.last)

    def below(self, path: list[int]) -> Node | None:
        """The node that a path of jobs leads to; None if a node on the way is pruned."""
        node = self.root
        for job in path:
            at_back, left = self.children(node)
            if job not in left:
                return None
            node = self.child(node, job, at_back)
        return node

    def search(self, start: Node, limit: int) -> tuple[int, int] | None:
        """Decomposed nodes and leaves from a node on; None if there are more nodes than the limit."""
        nodes, leaves, stack = 0, 0, [start]
        while stack:
            node = stack.pop()
            if len(node.first) + len(node.last) == self.jobs - 1:
                leaves += 1
                middle = set(range(self.jobs)).difference(node.first, node.last)
                found = makespan(self.times, [*node.first, *middle, *node.last])
                require(found >= self.value, f"a schedule has the makespan {found}, which is below {self.value}")
                continue
            nodes += 1
            if nodes > limit:
                return None
            at_back, left = self.children(node)
            stack += [self.child(node, job, at_back) for job in left]
        return nodes, leaves


def advanced(done: list[int], column: list[int]) -> list[int]:
    at, out = 0, []
    for ready, time in zip(done, column, strict=True):
        at = max(at, ready) + time
        out.append(at)
    return out


def one_machine(column: list[int], done: list[int], after: list[int]) -> int:
    """Largest u_i + after_i, where u_i is when the job starts on machine i."""
    start = done[0]
    bound = start + after[0]
    for machine in range(1, len(done)):
        start = max(done[machine], start + column[machine - 1])
        bound = max(bound, start + after[machine])
    return bound


def check(path: Path, limit: int, seed: int | None) -> list[str]:
    """What was checked, a sentence each."""
    proof = json.loads(path.read_text(encoding="utf-8"))
    require((proof.get("format"), proof.get("problem")) == (1, "flowshop"), "the file is no flowshop proof of format 1")
    content = {name: value for name, value in proof.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    require(hashlib.sha256(text.encode()).hexdigest() == proof["digest"], "the content does not match its digest")
    times, value, initial = proof["instance"]["times"], proof["value"], proof["initial"]
    machines, jobs = len(times), len(times[0])
    numbers = [machines, jobs, *(time for row in times for time in row)]
    digest = hashlib.sha256(struct.pack(f"<{len(numbers)}q", *numbers)).hexdigest()
    require(digest == proof["instance"]["digest"], "the processing times do not match their digest")
    done = [f"{proof['instance']['name']}: {jobs} jobs, {machines} machines; both digests are right"]
    if seed is not None:
        require(times == taillard(jobs, machines, seed), f"the times are not those of Taillard's generator from {seed}")
        done.append(f"the times are those of Taillard's generator from {seed}")
    tree = Tree(times, initial, value)
    if proof["schedule"]:
        require(sorted(proof["schedule"]) == list(range(jobs)), "the schedule is no permutation")
        found = makespan(times, proof["schedule"])
        require(found == value, f"the schedule has the makespan {found}, not {value}")
        done.append(f"the schedule has the makespan {value}")
    else:
        require(value == initial, "a proof without a schedule proves its initial upper bound")
        done.append(f"there is no schedule: what is proved is a lower bound of {value}")
    if proof["nodes"] == 0:
        require(tree.bound == value, f"nothing was searched, and the bound of the root is {tree.bound}, not {value}")
        return [*done, "the bound of the root is the makespan"]
    covered = sum(sums * math.factorial(jobs - 1 - level) for level, sums in enumerate(proof["explored"]))
    require(covered == math.factorial(jobs), f"the explored intervals do not add up to {jobs}!")
    done.append(f"the explored intervals add up to {jobs}!")
    if (proof["bound"], proof["branching"]) != ("one_machine", "min_branch"):
        return [*done, "NOT CHECKED: the tree, whose bound or branching rule is not one of this checker"]
    if proof["nodes"] <= limit:
        counts = tree.search(tree.root, limit if initial == value else 100 * limit)
        if initial == value:
            require(counts == (proof["nodes"], proof["leaves"]), f"the tree has {counts} nodes and leaves")
        return [*done, f"the whole tree, searched again, has {counts} nodes and leaves, and no shorter schedule"]
    again = 0
    for subtree in proof["subtrees"]:
        node = tree.below(subtree["path"])
        require(node is not None, f"the search does not visit {subtree['path']}")
        if node is not None and subtree["nodes"] <= limit:
            counts = tree.search(node, limit)
            require(counts is not None and counts[0] == subtree["nodes"], f"{subtree['path']} has {counts} nodes")
            again += 1
    return [*done, f"{again} of {len(proof['subtrees'])} recorded subtrees have their nodes, and no shorter schedule"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Check proof files of flowshops without Quintet.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--nodes", type=int, default=20_000, help="the largest tree or subtree to search again")
    parser.add_argument("--seed", type=int, help="time seed of Taillard's generator, for one file")
    chosen = parser.parse_args(arguments)
    failed = 0
    for path in chosen.files:
        try:
            print("\n  ".join(check(path, chosen.nodes, chosen.seed)))
        except (Refuted, OSError, KeyError, TypeError, ValueError, IndexError) as error:
            failed = 1
            print(f"{path}: REFUTED: {error if isinstance(error, Refuted) else f'not a proof file: {error!r}'}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
