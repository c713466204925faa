"""What simulators run: `protocol` says what one is, `table` lists them, a folder each does the work."""
