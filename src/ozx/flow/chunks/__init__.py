"""Read, move and transcode the chunks of an array.

``stored_chunks``, ``inner_chunks``
    The stored values of an array, zlib streams reframed as gzip if needed, and the encoded chunks inside them.
``reshard``, ``checksums``
    The same encoded chunks in other shards; the same chunks with checksums added or removed.
``transcode``, ``block_transcoding``
    The same pixels in other chunks or by another codec; exact crops decode theirs in `ozx.images.writing.cropping`.
"""
