"""The transport that speaks the kernel's own protocol: no library stands between, and nothing it can do is out of reach."""
