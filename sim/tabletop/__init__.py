"""The suite `tabletop`: a Panda at a table, language tasks with exact checks, an expert, and a Gymnasium env."""
