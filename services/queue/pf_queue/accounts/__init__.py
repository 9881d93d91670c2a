"""Users, their tokens, and their grants on queues and filesystems."""
