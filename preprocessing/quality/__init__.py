"""Quality of 10 s windows after Zhao & Zhang (2018): four indices and the classes made of them."""

from preprocessing.quality.score import QualityScores, score_windows

__all__ = ["QualityScores", "score_windows"]
