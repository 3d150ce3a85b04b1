"""Checkpoints: where they are kept, what names them, how they are written and restored."""
