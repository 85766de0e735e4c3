"""The meaning of a long task over its context boundaries: events, artifacts, strategies, packets."""
