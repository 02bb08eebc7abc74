"""The epilogue, which follows the loop: the groups that execute it, its buffers and its code."""
