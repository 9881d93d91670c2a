"""Models to and from protobuf messages; nothing else in the SDK builds or reads a message of a resource."""
