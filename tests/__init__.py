"""What holds, stated as tests."""
