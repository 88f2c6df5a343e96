"""Communicators made from ours are ours again."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI


class Children:
    """mpi4py's makers of intracommunicators, each returning a ``Communicator`` that owns its own.

    Where mpi4py returns ``MPI.COMM_NULL``, so do these.
    """

    vendor: MPI.Intracomm

    def _adopt(self, comm: MPI.Comm) -> Any:
        raise NotImplementedError

    def Dup(self, info: MPI.Info | None = None) -> Any:
        """Duplicate."""
        return self._adopt(self.vendor.Dup(info))

    def Dup_with_info(self, info: MPI.Info) -> Any:
        """Duplicate, with hints."""
        return self._adopt(self.vendor.Dup_with_info(info))

    def Idup(self, info: MPI.Info | None = None) -> tuple[Any, MPI.Request]:
        """Duplicate; unlike mpi4py's, it is complete when it returns."""
        return self.Dup(info), MPI.Request()

    def Idup_with_info(self, info: MPI.Info) -> tuple[Any, MPI.Request]:
        """Duplicate, with hints; unlike mpi4py's, it is complete when it returns."""
        return self.Dup_with_info(info), MPI.Request()

    def Clone(self) -> Any:
        """Duplicate."""
        return self._adopt(self.vendor.Clone())

    def Create(self, group: MPI.Group) -> Any:
        """A communicator of a subgroup; collective over all."""
        return self._adopt(self.vendor.Create(group))

    def Create_group(self, group: MPI.Group, tag: int = 0) -> Any:
        """A communicator of a subgroup; collective over the subgroup."""
        return self._adopt(self.vendor.Create_group(group, tag))

    def Split(self, color: int = 0, key: int = 0) -> Any:
        """One communicator a colour, ranks in order of key."""
        return self._adopt(self.vendor.Split(color, key))

    def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Any:
        """One communicator for the ranks that share a resource, such as a node's memory."""
        return self._adopt(self.vendor.Split_type(split_type, key, info))
