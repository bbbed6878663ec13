"""The suite `reach`: lead the tool to a ball. Any robot has it, with a gripper or without."""
