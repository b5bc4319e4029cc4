"""Charts of gold sentences that oracles of several transition systems read, and the memory that they are kept in."""
