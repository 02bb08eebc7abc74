"""Tables, pictures and programs for people."""
