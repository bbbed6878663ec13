"""An evaluation as one HTML file that needs nothing else: tables, plots, videos of failures, where it comes from."""
