"""Files of filesystems in Python programs, without a mount: `pf://…` for whatever reads files through fsspec."""
