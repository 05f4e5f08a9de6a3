"""The demo upstream: a labelled stand-in with deterministic answers, for trials without a model."""
