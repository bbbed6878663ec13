"""A robot that is not there: joints that go where they are told, cameras that show test pictures."""
