"""A client that waits, with all loaded that it needs, until somebody who keeps a mount has it served."""
