"""What Kubernetes and this driver say to each other; `make protos` writes it."""
