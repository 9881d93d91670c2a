"""The decisions of admission, without I/O: what happens goes in, and what is to be done comes out."""
