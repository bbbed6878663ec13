"""Two policies on a real robot: in an order that nobody knows, judged by whoever looks on."""
