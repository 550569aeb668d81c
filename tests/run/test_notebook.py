"""What the cells of a Jupyter notebook show, executed in a real kernel."""

import sys

from tests.support.needs import opencl_device, package
from tests.support.patience import PATIENCE

package("ipykernel")
nbformat = package("nbformat")
nbclient = package("nbclient")

CELLS = (
    "import engine\nowner = engine.Engine(devices=['opencl:0'])",
    "problem = engine.Queens(9)\nrun = owner.start(problem, on_event=engine.ProgressBar())\nrun",
    "'between'",
    "result = await run\nresult",
    "owner.solve(problem, on_event=engine.ProgressBar()).objective",
    "engine.map([engine.Knapsack([60, 100], [10, 20], size) for size in (10, 50)], on_event=engine.ProgressBar())",
    "problem",
)


def executed(folder, *cells):
    """The outputs of each cell; the kernel is this interpreter, without the user's own settings."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class Manager(AsyncKernelManager):
        @property
        def kernel_spec(self):
            return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=PATIENCE, startup_timeout=PATIENCE, kernel_manager_class=Manager)
    client.execute(cwd=str(folder))
    return [cell.outputs for cell in notebook.cells]


def shown(outputs, kind="text/plain"):
    return [output.data[kind] for output in outputs if output.output_type in ("execute_result", "display_data")]


def test_bars_stay_in_the_cells_that_made_them_and_no_result_of_a_cell_is_lost(tmp_path):
    opencl_device()
    outputs = executed(tmp_path, *CELLS)
    _, started, between, awaited, solved, batch, problem = outputs
    bar, run = shown(started)
    assert bar.startswith("complete")  # though its cell has ended before
    assert run.startswith("<Run of branch_and_bound: problem queens-9")
    assert shown(between) == ["'between'"]
    assert [text[:34] for text in shown(awaited)] == ["<Result complete: objective 352, b"]
    assert [text[:7] for text in shown(solved)] == ["complet", "352"]
    assert [text[:16] for text in shown(batch)] == ["problems  2/2 pr", "<Batch of 2 resu"]
    assert shown(problem) == ["<n-queens: 9 queens on a board of 9 x 9>"]
    assert [output for cell in outputs for output in cell if output.output_type == "stream"] == []
    assert "<th>objective</th><td>352</td>" in shown(awaited, "text/html")[0]
    assert "<th>1</th><td>knapsack of 2 items</td>" in shown(batch, "text/html")[1]
