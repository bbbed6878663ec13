"""How messages come and go: bounded waits, TLS, arrays and pictures."""
