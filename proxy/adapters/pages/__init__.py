"""What the workers of a machine share in memory."""
