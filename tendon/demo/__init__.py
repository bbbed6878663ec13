"""What `tendon demo` tells, shows and leaves behind."""
