"""What follows the loop: who does it, through which buffers, and its code."""
