"""Guards: pure checks that refuse a near match because one decisive thing differs."""
