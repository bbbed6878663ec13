"""The robot goes from view to view by itself: poses that tell most, through the filter, slowly."""
