"""A robot's collision model: shapes on its links, made from meshes, kept in a file, and the distances between them."""
