"""A small process that keeps a mount while whoever serves it comes and goes.

It opens the device, mounts and agrees with the kernel; a client gets the device from it over a socket and serves. When
the client dies, requests wait, and the next one goes on with the same mount: programs notice a pause and no error.
"""
