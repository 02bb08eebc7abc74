"""The joint system: software pipeline and warp specialization in one set of constraints."""
