"""The functions of partitions: the instructions of the schedule in Gluon."""
