"""The `.astra` language: from text to a typed Spec, each pass a function from frozen data to frozen data."""
