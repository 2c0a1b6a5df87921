"""Set the codec pipeline in zarr-python's configuration, for arrays that zarr-python opens from an `OzxStore`.

The setting ``codec_pipeline.path`` names one class, which zarr-python uses for every array of every store. Here, the
name includes the class that was configured before. So a ``with zarr.config.set(...)`` block, which puts the old name
back at its end, also puts back the pipeline of the arrays of other stores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import zarr
from zarr.abc.codec import Codec, CodecPipeline
from zarr.abc.store import Store
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.registry import get_pipeline_class, register_pipeline

_SETTING = "codec_pipeline.path"


class StorePipeline(CodecPipeline):
    """A factory of codec pipelines.

    Arrays in archives get the pipeline of ozx; other arrays get a pipeline of the class `others`.
    """

    others: type[CodecPipeline] = BatchedCodecPipeline

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Any:
        """Return a pipeline of the class for other arrays."""
        return cls.others.from_codecs(codecs)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Store) -> Any:
        """Return the pipeline for an array."""
        # Imported here: zarr-python loads this module whenever ozx is installed.
        from ozx.store.pixels.pipeline import ArchivePipeline, knows_store  # noqa: PLC0415

        if knows_store(store):
            return ArchivePipeline.from_metadata(array_metadata)
        return cls.others.from_array_metadata_and_store(array_metadata=array_metadata, store=store)


_OURS = f"{StorePipeline.__module__}.{StorePipeline.__qualname__}"


def use_pipeline() -> None:
    """In this process, configure zarr-python to read and write arrays of archives with the codec pipeline of ozx.

    `OzxStore` does this when zarr-python opens or creates a node. A call is needed only for ``ozx://`` URLs, before
    arrays are opened. Arrays of other stores keep the pipeline that is configured, also one that is configured later.

    Examples
    --------
    >>> import os, ozx, zarr
    >>> with zarr.config.set({"codec_pipeline.path": zarr.config.get("codec_pipeline.path")}):  # for this example only
    ...     ozx.use_pipeline()
    ...     zarr.open_array(f"ozx://{os.path.abspath('cells.ozx')}", path="0", mode="r")[0, 0, :2].shape
    (2,)
    """
    name = zarr.config.get(_SETTING)
    if name.startswith(_OURS):
        return
    # Two settings would not both go back at the end of a with block.
    members = {"__qualname__": f"{StorePipeline.__qualname__}[{name}]", "__module__": __name__}
    pipeline: Any = type(StorePipeline.__name__, (StorePipeline,), {**members, "others": get_pipeline_class()})
    register_pipeline(pipeline)  # abstract, as only its class methods are called
    zarr.config.set({_SETTING: f"{pipeline.__module__}.{pipeline.__qualname__}"})
