"""A residual on disk and in use: its bundle, bound to the policy that it corrects."""
