"""The command line. Its modules load neither gRPC nor rich before a command needs them, so that help comes at once."""
