"""How much of a task is done, as a policy sees it."""
