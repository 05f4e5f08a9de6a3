"""The tier on disk: one LMDB file shared by all workers of a machine."""
