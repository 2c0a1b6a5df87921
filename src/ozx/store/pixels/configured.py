"""Set the codec pipeline in zarr-python's configuration, for arrays opened from an `OzxStore`.

The setting ``codec_pipeline.path`` names one class, which zarr-python uses for every array of every store.
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

    Arrays in archives get the pipeline of ozx; other arrays get a pipeline of the class that was configured before.
    """

    others: type[CodecPipeline] = BatchedCodecPipeline

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Any:
        """Return a pipeline of the class that was configured before `StorePipeline`."""
        return cls.others.from_codecs(codecs)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Store) -> Any:
        """Return the pipeline for an array."""
        # Imported here: zarr-python loads this module whenever ozx is installed.
        from ozx.store.pixels.pipeline import ArchivePipeline, knows_store  # noqa: PLC0415

        if knows_store(store):
            return ArchivePipeline.from_metadata(array_metadata)
        return cls.others.from_array_metadata_and_store(array_metadata=array_metadata, store=store)


def use_pipeline() -> None:
    """In this process, configure zarr-python to read and write arrays of an `OzxStore` with the codec pipeline of ozx.

    Only arrays opened afterwards use it; arrays from `ozx.open` always use it. Arrays of other stores keep the pipeline
    that is configured now. To undo it, set ``codec_pipeline.path`` in ``zarr.config`` to another class.

    Examples
    --------
    >>> import ozx, zarr
    >>> with zarr.config.set({"codec_pipeline.path": zarr.config.get("codec_pipeline.path")}):  # for this example only
    ...     ozx.use_pipeline()
    ...     zarr.open_array(ozx.OzxStore("cells.ozx"), path="0", mode="r")[0, 0, :2].shape
    (2,)
    """
    ours = f"{StorePipeline.__module__}.{StorePipeline.__qualname__}"
    if zarr.config.get(_SETTING) != ours:
        StorePipeline.others = get_pipeline_class()
        pipeline: Any = StorePipeline  # abstract, as only its class methods are called
        register_pipeline(pipeline)
        zarr.config.set({_SETTING: ours})
