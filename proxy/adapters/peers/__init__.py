"""The workers to each other: a running flight, followed from another process or machine."""
