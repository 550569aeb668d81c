"""Clusters of a batch system: the scripts of the jobs, and jobs that start late or are refused."""

import pytest

import engine
from engine.errors import ClusterError
from engine.execution.dask import connection, jobs
from engine.execution.dask.connection import Connection
from tests.support.batch_system import slurm
from tests.support.needs import package
from tests.support.patience import PATIENCE

package("dask_jobqueue")

HALL = 'kind = "slurm"\ncores = 1\nmemory = "2GB"\ninsecure = true\n'


def script_of(path, text):
    path.write_text(text)
    file = jobs.read_file(path)
    made = getattr(jobs._jobqueue(path), jobs._CLASSES[file.kind])(**jobs.job_options(file, path))
    with made:
        return made.job_script()


COMMON = 'cores = 8\nmemory = "32GB"\nproject = "abc"\nprologue = ["module load cuda"]\nwalltime = "1-02:30:00"\n'


@pytest.mark.parametrize(
    ("own", "lines"),
    [
        (
            'kind = "slurm"\nqueue = "gpu"\ngpus = 2\ndirectives = ["--constraint=h200"]',
            ["#SBATCH -p gpu", "#SBATCH -A abc", "#SBATCH -t 26:30:00", "#SBATCH --gres=gpu:2"],
        ),
        (
            'kind = "pbs"\ngpus = 2\ndirectives = ["-m n"]',
            ["#PBS -l walltime=26:30:00", "#PBS -l select=1:ncpus=8:mem=30GB:ngpus=2", "#PBS -m n"],
        ),
        (
            'kind = "htcondor"\ngpus = 2\ndirectives = ["+Big = true"]\ndisk = "20GB"',
            ["accounting_group = abc", "request_gpus = 2", "+Big = true", "MY.DaskWorkerDisk = 20000000000"],
        ),
    ],
)
def test_a_job_asks_for_what_the_file_says(tmp_path, own, lines):
    script = script_of(tmp_path / "hall.toml", f"{own}\n{COMMON}")
    assert set(lines) <= set(script.splitlines())
    assert "module load cuda" in script
    assert "--lifetime 95100s" in script
    assert script.count("select=") <= 1
    assert "-l ngpus" not in script


def test_a_job_that_starts_late_is_waited_for_as_the_file_says(cpu, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "_START_SECONDS", 0.5)  # for workers of this host
    path = tmp_path / "hall.toml"
    path.write_text(f"{HALL}wait = {5 * PATIENCE}\n")
    (tmp_path / "jobs").mkdir()
    with slurm(tmp_path / "jobs", late=2.0), engine.Engine("opencl", [cpu], cluster=str(path)) as owner:
        with pytest.warns(engine.ClusterWarning, match="is not encrypted, and anyone who can reach that address"):
            result = owner.solve(engine.Queens(8))
        assert result.objective == 92


def test_jobs_that_are_refused_are_an_error_at_once(tmp_path, caplog):
    path = tmp_path / "hall.toml"
    path.write_text(f"{HALL}wait = {5 * PATIENCE}\n")
    (tmp_path / "jobs").mkdir()
    with (
        slurm(tmp_path / "jobs", refuses=True),
        pytest.raises(ClusterError, match=r"cannot be submitted: sbatch: error: invalid partition specified: gpu$"),
    ):
        Connection(str(path))
    assert not [one for one in caplog.records if one.levelname == "ERROR"]
