"""From a solution or an order to programs, slots and barriers."""
