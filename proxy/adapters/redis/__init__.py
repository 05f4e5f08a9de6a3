"""Redis, shared by all gateways of a fleet: the link, the tier and its filter."""
