"""What must come of the cases from bug reports, by area."""
