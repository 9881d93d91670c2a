"""The transport that speaks the kernel's own protocol: no library stands between."""
