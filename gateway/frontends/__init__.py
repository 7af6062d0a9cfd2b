"""Front doors: each speaks a protocol and turns refusals into its own kind of no."""
