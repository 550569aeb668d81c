"""What building blocks with scratch memory on a device have in common: they are context managers that give it back."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A context manager that closes itself at the end."""

    @abstractmethod
    def close(self) -> None:
        """Give the scratch memory back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
