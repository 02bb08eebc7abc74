"""An independent statement of `docs/model.md` for small loops, and what is compared with it."""
