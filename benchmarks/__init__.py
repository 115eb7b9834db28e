"""Speed, measured: the floor that the machine sets, the step as a paper's release writes it, a
peer, and the harness."""
