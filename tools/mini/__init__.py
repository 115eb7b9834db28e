"""The encoder of scale mini: cut from the packaged MiniLM and trained back into a masked-language
model."""
