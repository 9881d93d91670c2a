"""Copies files between this machine and filesystems: in pieces, several at once, and on from where it broke off."""
