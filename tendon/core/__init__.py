"""The contracts every other package speaks: types, clocks, modes, configuration and errors."""
