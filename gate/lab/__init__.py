"""What measures and shows, and is not on a call's way."""
