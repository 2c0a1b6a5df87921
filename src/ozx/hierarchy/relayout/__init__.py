"""The documents of arrays with other chunks, shards or codecs."""
