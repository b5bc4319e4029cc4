"""What a pass learns from: configurations, their optimal transitions, and where they come from."""
