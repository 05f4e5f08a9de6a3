"""One parent and the workers it forks."""
