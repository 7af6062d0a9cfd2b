"""Earlier measurements, and how they answer later queries."""
