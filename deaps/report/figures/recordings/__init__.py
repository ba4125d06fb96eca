"""Figures of recordings: strips of ECG, nights, and the page of one night."""
