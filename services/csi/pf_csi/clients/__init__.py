"""`pf-csi clients`: the only one that makes pods, in which clients serve mounts."""
