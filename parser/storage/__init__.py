"""How files are written, whole or not at all, and what tells one version from another."""
