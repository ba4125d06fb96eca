"""The torture harness: faults against the store, and an oracle outside it that knows what held.

``make torture`` runs every row of the table; ``make torture ONLY=bit-flips`` one of them.
"""
