"""Drivers of robots, one folder a bus; `tendon.robots.driver` says what each must do."""
