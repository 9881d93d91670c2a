"""Documents of YAML or JSON: their values, each with its place, and how they are read and written."""
