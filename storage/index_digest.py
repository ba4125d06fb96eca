"""The digest of an index: which bytes were published, so that a changed bit is noticed.

It stands in a file beside the index. Before a new index takes the old one's name, both digests
stand there; so at any moment, also after a kill, the index is one of those that are named.
"""

from __future__ import annotations

from pathlib import Path

from storage.atomic import replacing
from storage.digest import file_sha256
from storage.layout import index_digest_path

_verified: set[tuple[str, int, int, int]] = set()
"""Index files that this process has verified: path, inode, size and time."""


def published_digests(index: Path) -> list[str]:
    """Return the digests that an index may have; none if it was published without one."""
    try:
        return index_digest_path(index).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def write_digests(index: Path, digests: list[str]) -> None:
    """Write the digests that an index may have."""
    with replacing(index_digest_path(index)) as temporary:
        temporary.write_text("".join(f"{digest}\n" for digest in digests), encoding="ascii")


def is_as_published(index: Path, *, content: Path | None = None) -> bool:
    """Return whether an index has the bytes that were published; True where nobody noted them.

    A file is read once for each process. ``content`` is a copy of the index to read instead.
    """
    stat = index.stat()
    key = (str(index), stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key in _verified:
        return True
    # Read first: a publication in between may name the digests of newer indexes only.
    digest = file_sha256(content or index)
    digests = published_digests(index)
    if digests and digest not in digests:
        return False
    _verified.add(key)
    return True
