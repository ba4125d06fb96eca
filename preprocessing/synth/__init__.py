"""A seeded synthetic cohort in the real folder trees and formats.

SHHS may not be shipped, and tests and the demonstration need data: every data set is imitated
with static factors (a person's morphology, sex, age), dynamic ones (heart rate, breathing, sleep
cycles, arrhythmia) and noise, at shares close to those of the real recordings.
"""

from preprocessing.synth.cohort import DATASETS, write_cohort
from preprocessing.synth.recording import SynthDataset

__all__ = ["DATASETS", "SynthDataset", "write_cohort"]
