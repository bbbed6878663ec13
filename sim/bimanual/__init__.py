"""The suite `bimanual`: two hands lift a tray, or hand a bar over."""
