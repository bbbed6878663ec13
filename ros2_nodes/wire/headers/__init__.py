"""A few words in the frame_id of a Header."""
