"""What the driver needs of Linux: its list of mounts, paths that nobody can bend, and binding.

Nothing here looks at what lies in a mount, which would wait for whoever serves it.
"""
