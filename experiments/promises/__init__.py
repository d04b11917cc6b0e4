"""What was promised, and what came: on simulated data, where new rows can be drawn, and on real."""
