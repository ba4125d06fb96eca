"""File formats: each module reads one ECG lead of one kind of file."""
