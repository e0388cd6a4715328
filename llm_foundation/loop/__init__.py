"""Pure: from what is stored, what comes next. No Django, no I/O."""
