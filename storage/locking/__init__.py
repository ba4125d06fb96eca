"""Who may write: locks of the store, how far they reach, and which processes live."""
