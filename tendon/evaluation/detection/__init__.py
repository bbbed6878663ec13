"""How good a failure detector is: traces of episodes, scores and pictures."""
