"""Who asks a running graph from outside: the operator, and those who only look."""
