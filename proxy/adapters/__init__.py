"""Everything that touches a socket, a disk, a driver or the time."""
