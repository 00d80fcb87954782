# SPDX-License-Identifier: GPL-2.0-only
"""The cluster of --dask, imported only when it is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rtscope.model.errors import RtscopeError

if TYPE_CHECKING:
    from rtscope.farm.cluster import Cluster


@contextmanager
def nodes_of(address: str | None) -> "Iterator[Cluster | None]":
    """The cluster at this address, connected within the block; None for none. Raises
    RtscopeError.
    """
    if address is None:
        yield None
        return
    try:
        from rtscope.farm.cluster import Cluster
    except ImportError as error:
        raise RtscopeError(
            f"--dask needs the Python package {error.name}: pip install 'rtscope[farm]' installs it"
        ) from None
    cluster = Cluster(address)
    try:
        yield cluster
    finally:
        cluster.close()
