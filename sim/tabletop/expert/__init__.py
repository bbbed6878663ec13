"""The scripted expert: what it does in any state, as a pilot and as labels for training."""
