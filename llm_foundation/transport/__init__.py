"""The only code that opens a connection to a provider: one client, a policy for addresses, deadlines, a body limit."""
