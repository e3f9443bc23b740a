from audit.kernels.plateaus.model import Barriers, EqualJobs, NodeSets, QueuedJobs, Supply
from audit.kernels.plateaus.stops import StopTables
from audit.kernels.plateaus.unstartable import Marks

def sweep(
    jobs: QueuedJobs, alike: EqualJobs, nodes: NodeSets, barriers: Barriers, supply: Supply,
    since: int, made: StopTables, marks: Marks
) -> None: ...  # fmt: skip
