"""The examples of a pass: configurations, their optimal transitions, and where they come from."""
