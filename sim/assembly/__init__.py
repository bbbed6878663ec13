"""The suite `assembly`: a peg goes into a hole, a gear onto a pin."""
