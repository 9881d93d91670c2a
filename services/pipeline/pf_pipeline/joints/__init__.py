"""Where parts of this service meet that do not know each other."""
