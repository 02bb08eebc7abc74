"""Loop and machine as integers: operations, dependences, groups, lifetimes, solutions."""
