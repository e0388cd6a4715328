"""One model call: from a configuration to the provider and back."""
