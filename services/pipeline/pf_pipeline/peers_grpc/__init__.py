"""Other services, as the ports of this one want them."""
