"""Drivers of robots, one folder a bus; `driver.py` says what each must do."""
