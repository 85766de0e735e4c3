"""Experiments over long-task context: what each strategy keeps, and what a fixed policy then does."""
