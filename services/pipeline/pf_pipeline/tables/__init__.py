"""Tables of all that runs did, as files for others to compute with."""
