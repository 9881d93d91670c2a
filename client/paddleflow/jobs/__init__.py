"""Jobs as people write them: documents in YAML or JSON, and the messages that say the same."""
