"""Every error Quintet raises on purpose, and the exit code it ends a command with.

::

    QuintetError
    ├── InputError                 2   what the user gave cannot be used
    │   ├── ProblemError           2   an instance: a file (with its line) or the arguments of a problem class
    │   ├── OptionError            2   a solver option, a setting or its value
    │   ├── DeviceNotFound         2   no device answers to that name
    │   ├── ProofError             2   a proof file is damaged, or a check of it fails
    │   ├── RunFolderError         2   a run folder is missing, damaged, in use or of another problem
    │   └── UntrustedCode          2   a file contains code that the user has not allowed to run
    ├── DeviceError                3   a device or its driver
    │   ├── BackendUnavailable     3   a whole backend cannot be used, and why
    │   ├── KernelError            3   a kernel does not compile or launch
    │   ├── DeviceLost             3   a device of a pool failed; the others may continue
    │   ├── PeerFailed             3   a device waited for another one, which failed
    │   ├── RecordingError         3   work cannot be recorded on a device, or its recording is no longer valid
    │   ├── ClusterError           3   a cluster cannot be reached or used, or is lost
    │   └── OutOfDeviceMemory      3   the planned memory does not fit, found before anything is allocated
    ├── OutputError                5   what was asked for could not be written: the disk is full, or the like
    ├── KernelArgumentError        3   a kernel was called with a wrong argument: a fault of the program, not the device
    ├── KernelBoundsError          3   a checked kernel has left its buffers: a fault of the program, too
    └── AuditError                 4   an answer failed its check on the host, so there is no answer

A message is one sentence: the name, the rule, what was given, and where.

Warnings are of one tree, too. Observers receive each as a notice of the run; in Python, ``solve`` and ``Run.wait`` also
issue it as a Python warning, so that it can be filtered by its class.

::

    QuintetWarning
    ├── ClusterWarning         a worker of a cluster is not used or not heard of, or the connection is not encrypted
    ├── ConvergenceWarning     the chains of a sampler have not mixed, so its estimates are not reliable yet
    ├── DataWarning            the prior determines what the data do not: a constant column, separated classes
    ├── InfeasibleWarning      the best solution found violates a constraint
    ├── RelaxationWarning      variables that were declared integer were taken as continuous
    ├── ObserverWarning        a callback raised an exception and is not called again
    └── StorageWarning         a checkpoint or result could not be written, or what was there could not be used
"""

import difflib
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [  # what ``import engine`` offers, too
    "AuditError",
    "BackendUnavailable",
    "ClusterError",
    "ClusterWarning",
    "ConvergenceWarning",
    "DataWarning",
    "DeviceError",
    "DeviceLost",
    "DeviceNotFound",
    "InfeasibleWarning",
    "InputError",
    "KernelArgumentError",
    "KernelBoundsError",
    "KernelError",
    "ObserverWarning",
    "OptionError",
    "OutOfDeviceMemory",
    "OutputError",
    "ProblemError",
    "ProofError",
    "QuintetError",
    "QuintetWarning",
    "RecordingError",
    "RelaxationWarning",
    "RunFolderError",
    "StorageWarning",
    "UntrustedCode",
]


class QuintetError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is what the command line ends with, ``remedy`` what helps.

    If a run ended with it, ``best_objective`` and ``best_bound`` are the best that the run had found by then, and
    ``run_folder`` is where its last checkpoint is; else they are None.
    """

    exit_code = 1
    remedy = ""
    best_objective: float | int | None = None
    best_bound: float | int | None = None
    run_folder: str | None = None


class OutputError(QuintetError):
    """What was asked for could not be written, such as a solution to a full disk; the run itself ended as it says."""

    remedy = "Free space on the disk or name another place; with a run folder the result is kept there."
    exit_code = 5


class InputError(QuintetError, ValueError):
    """What the user gave cannot be used."""

    remedy = "Change what the message names."
    exit_code = 2


class ProblemError(InputError):
    """An instance breaks a rule of its problem.

    Parameters
    ----------
    message : str
        The rule and what was given, as a sentence without a final full stop.
    path : path-like, optional
        File the value came from.
    line : int, optional
        1-based line in that file.
    """

    remedy = "Correct the line or argument that the message names; `--as KIND` reads a file as another kind."

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None) -> None:
        where = ""
        if path is not None:
            where = f" ({path}, line {line})" if line is not None else f" ({path})"
        super().__init__(message + where)
        self.path = None if path is None else str(path)
        self.line = line


class OptionError(InputError):
    """An option or setting is unknown, or its value is not allowed."""

    remedy = "`quintet solvers NAME` lists the options of a solver with their values."


class DeviceNotFound(InputError):
    """No device answers to the name that was asked for."""

    remedy = "`quintet devices` lists the names of the devices; `CUDA_VISIBLE_DEVICES` may hide some."


class ProofError(InputError):
    """A proof file is damaged, or one of the checks of it fails."""

    remedy = "Make the proof again with `quintet reproduce flowshop`, or get the file from its source."


class RunFolderError(InputError):
    """A run folder is missing, damaged, in use, or belongs to another problem."""

    remedy = "Wait until the process that uses the folder has ended, or start with `--from-start` or in another folder."


class UntrustedCode(InputError):
    """A file contains code that would be executed, and the user has not allowed that.

    ``code`` is a :class:`engine.util.trust.ForeignCode`: what it is, where, and its digest.

    Parameters
    ----------
    message : str
    code : ForeignCode, optional
    """

    remedy = "Read the code that the message names; if you trust it, allow it with `--trust`."

    def __init__(self, message: str, code: Any = None) -> None:
        super().__init__(message)
        self.code = code


class DeviceError(QuintetError):
    """Trouble with a device or its driver."""

    remedy = "Resume the run from its folder, on other devices if this one fails again."
    exit_code = 3


class BackendUnavailable(DeviceError):
    """A backend cannot be used on this machine; the message says what is missing and what would mend it."""

    remedy = "Do the step that the message names; see the installation page."


class KernelError(DeviceError):
    """A kernel template does not render, compile or launch.

    Parameters
    ----------
    template, language, device : str
        Which kernel source, for which language, on which device.
    message : str
        What went wrong, including the template's own line when the compiler names one.
    log : str
        The compiler's whole log.
    source_path : str, optional
        Where the rendered source was written for inspection.
    """

    remedy = "Update the driver; report the message with the file that `QUINTET_DUMP_KERNELS` wrote."

    def __init__(
        self,
        template: str,
        language: str,
        device: str,
        message: str,
        log: str = "",
        source_path: str | None = None,
    ) -> None:
        text = f"kernel {template} ({language}, {device}): {message}"
        if log:
            text += f"\n{log.strip()}"
        if source_path:
            text += f"\nthe rendered source is in {source_path}"
        super().__init__(text)
        self.template = template
        self.language = language
        self.device = device
        self.log = log
        self.source_path = source_path


class DeviceLost(DeviceError):
    """A device of a pool failed, and the others may continue without it.

    Parameters
    ----------
    label : str
        The member of the pool, as in ``result.devices``.
    index : int
        Its place in the pool.
    error : DeviceError
        What went wrong.
    results : dict of int to object
        What the other members returned, by place.
    """

    remedy = "The run goes on with the other devices; `nvidia-smi` and the system's log say what happened to this one."

    def __init__(self, label: str, index: int, error: DeviceError, results: dict[int, Any] | None = None) -> None:
        super().__init__(f"the device {label} was lost: {error}")
        self.label = label
        self.index = index
        self.error = error
        self.results = results or {}


class PeerFailed(DeviceError):
    """A device waited for another one of the pool, which has failed and says why itself."""

    remedy = "See the error of the other device."


class RecordingError(DeviceError):
    """Work cannot be recorded on a device, or its recording is no longer valid; run it without recording."""

    remedy = "Run the work without `record`."


class ClusterError(DeviceError):
    """A cluster cannot be reached or used, or the connection to it is lost."""

    remedy = "Check the address, the certificates and the versions with `quintet devices --cluster WHERE`."


class KernelArgumentError(QuintetError, TypeError):
    """A kernel was called with a wrong name, number, type or range of arguments; nothing was launched.

    Parameters
    ----------
    template, language, device : str
        Which kernel source, for which language, on which device.
    message : str
        The kernel, and what is wrong with which argument.
    """

    remedy = "Correct the call of the kernel; if it is one of Quintet's, report it."
    exit_code = 3

    def __init__(self, template: str, language: str, device: str, message: str) -> None:
        super().__init__(f"kernel {template} ({language}, {device}): {message}")


class KernelBoundsError(QuintetError):
    """A checked kernel has read or written what is outside of its buffers (``QUINTET_CHECKED``); there is no answer.

    Parameters
    ----------
    template, language, device : str
        Which kernel source, for which language, on which device.
    message : str
        The kernel, its argument, the index and the template's line, as far as they are known.
    """

    remedy = "Correct the index in the kernel; if it is one of Quintet's, report it."
    exit_code = 3

    def __init__(self, template: str, language: str, device: str, message: str) -> None:
        super().__init__(f"kernel {template} ({language}, {device}): {message}")
        self.template = template


class OutOfDeviceMemory(DeviceError):
    """The memory a run has planned does not fit its devices; raised before anything is allocated."""

    remedy = "Lower the option that the message names, or add devices."


class AuditError(QuintetError):
    """An answer failed its independent check on the host; it is withheld."""

    remedy = "Run again with another seed or `method`; report it with the run folder."
    exit_code = 4


class QuintetWarning(UserWarning):
    """Base of every warning about a run; the text is a sentence without a final full stop."""

    remedy = ""


class ClusterWarning(QuintetWarning):
    """A worker of a cluster is not used or not heard of, or the connection to the cluster is not encrypted."""

    remedy = "Start the worker with the same versions, or encrypt the connection; see the page on clusters."


class ConvergenceWarning(QuintetWarning):
    """The chains of a sampler have not mixed: its estimates are not reliable yet."""

    remedy = 'Raise `draws` or `max_draws`, or use `prior="regularized"`; do not trust the estimates it names.'


class DataWarning(QuintetWarning):
    """The prior determines what the data do not: constant columns, columns that separate the classes, odd units."""

    remedy = 'Leave out the column it names, or bound the coefficients with `prior="regularized"`.'


class InfeasibleWarning(QuintetWarning):
    """The best solution found violates a constraint of the problem."""

    remedy = "Give the run more time; the problem may have no solution that satisfies all hard clauses."


class RelaxationWarning(QuintetWarning):
    """Variables that were declared integer were taken as continuous."""

    remedy = "Leave out `relax` to have the integer variables respected."


class ObserverWarning(QuintetWarning):
    """A callback raised an exception and is not called again."""

    remedy = "Correct the callback; the run is not affected."


class StorageWarning(QuintetWarning):
    """A checkpoint or result could not be written, or what a run folder contains could not be used."""

    remedy = "Free space on the disk; the run goes on, and its earlier checkpoint is kept."


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def issue_warning(warning: QuintetWarning) -> None:
    """Issue a Python warning that names the line of the user's program which called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def nearest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'variant'?"`` for the closest known name, else an empty string.

    Parameters
    ----------
    name : str
        What was given.
    known : iterable of str
        What is allowed.
    """
    bare = {text.lstrip("-"): text for text in known}  # dashes, which all options share, bring no name closer
    matches = difflib.get_close_matches(name.lstrip("-"), bare, n=1, cutoff=0.6)
    return f"; did you mean '{bare[matches[0]]}'?" if matches else ""
