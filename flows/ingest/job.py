"""A job: all that the recordings of one data set have in common when they are preprocessed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preprocessing.channels import ANY_ECG, MATCHING_VERSION, canonical, sounds_like_ecg
from preprocessing.config import QualitySettings, SignalSettings, versions_of
from preprocessing.datasets import DataSet
from preprocessing.plausibility import DEFAULT_READING_BYTES
from preprocessing.recording import FoundRecording
from storage.files import digest_of
from storage.schema import SCHEMA_VERSION, SourceFile


@dataclass(frozen=True, slots=True)
class Job:
    """One data set, where it lies, where its windows go, and the settings they depend on.

    It carries the reader itself: a worker is another process, which knows nothing of a data set
    that a script has registered.
    """

    reader: DataSet
    root: Path
    store: Path
    signal: SignalSettings
    quality: QualitySettings
    reading_bytes: int = DEFAULT_READING_BYTES
    """Memory that reading one recording may take; no part of what its windows depend on."""

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.reader.name

    def settings(self) -> dict[str, Any]:
        """Return just the settings that this data set's window files depend on."""
        unread = {"channels_add"} | (set() if self.reader.reads_channels else {"channels"})
        return {
            "signal": self.signal.model_dump(mode="json", exclude=unread),
            "quality": self.quality.model_dump(mode="json"),
        }

    def versions(self, recording: FoundRecording) -> str:
        """Return the versions of all that makes the windows of a recording."""
        return versions_of(self.reader.version, recording.files[0][0])

    def settings_digest(self, versions: str) -> str:
        """Return the digest of those settings, of ``versions`` and of the schema's version."""
        return digest_of(self.settings(), versions, SCHEMA_VERSION)

    def channel_digest(self, versions: str) -> str:
        """Return the digest for a recording without an ECG channel: labels are part of it, too.

        So more labels redo such recordings, and no others.
        """
        return digest_of(self.settings_digest(versions), self.signal.labels(), MATCHING_VERSION)

    def is_label(self, channel: str) -> bool:
        """Return whether a lead of this name would be read."""
        return _is_among(channel, self.signal.labels())

    def is_added(self, channel: str) -> bool:
        """Return whether a lead of this name would be read for the sake of an added label alone."""
        return not _is_among(channel, self.signal.model_copy(update={"channels_add": ()}).labels())


def _is_among(channel: str, labels: tuple[str, ...]) -> bool:
    is_known = canonical(channel) in map(canonical, labels)
    return is_known or (ANY_ECG in labels and sounds_like_ecg(channel))


def printable(name: str) -> str:
    r"""Return a file name as text: bytes that are not UTF-8 become escapes such as ``\xff``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def stat_source(root: str, path: str, role: str) -> SourceFile:
    """Return a source file as it is now, without its hash."""
    stat = os.stat(f"{root}/{path}")  # noqa: PTH116 - a Path costs more than the call
    return SourceFile(
        printable(path), role, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
    )
