"""The encoder of scale mini: how it is cut from the packaged MiniLM and trained back into a masked-language model."""
