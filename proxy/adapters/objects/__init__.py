"""The object tier: S3, Google Cloud Storage, Azure, or a folder."""
