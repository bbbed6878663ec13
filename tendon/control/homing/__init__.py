"""The way home: planned in a process of its own, followed from rest to rest as a chunk like any other."""
