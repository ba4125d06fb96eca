"""XML without its dangers: streamed, and without document types, entities or the network.

A scoring file is plain elements with text. A document type is the only way to declare entities,
which can expand without end or name files and addresses, so a file that has one is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

from storage.errors import DeapsError

# Its type parameter is what read_events gives, and the class takes none when it is run.
XMLPullParser = Any

_CHUNK_BYTES = 1 << 16
_PROLOG_BYTES = 1 << 8
_MAX_BYTES = 16 << 20
"""A scoring of SHHS has 0.1 to 0.5 MB."""


class XmlError(DeapsError):
    """A file that is no XML, ends too early, or has what a scoring never has."""


def read_elements(path: Path, root: str, tags: Collection[str]) -> Iterator[ElementTree.Element]:
    """Yield each element with one of the ``tags`` at its end, and then empty it.

    The file is read in parts, so that a long one takes little more memory than a short one.

    Raises
    ------
    XmlError
        If it is no XML, is cut short, is in an unknown encoding, declares a document type or has
        another root. The message quotes nothing of the file: free text may name people.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise XmlError(f"it has more than {_MAX_BYTES >> 20} MB")
    parser: XMLPullParser = ElementTree.XMLPullParser(events=("end",))
    last = ""
    with _named_errors():
        for _ in _feed(path, parser):
            # What the parser found wrong with a part, it raises here and not when it is fed.
            for _, element in parser.read_events():
                last = element.tag
                if last in tags:
                    yield element
                    element.clear()
    if last != root:
        raise XmlError(f"its root element is not {root}")


def _feed(path: Path, parser: XMLPullParser) -> Iterator[None]:
    """Hand the file to the parser, part by part, after the guard has seen all before the root."""
    with path.open("rb") as file:
        _check_prolog(file)
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            parser.feed(chunk)
            yield
    parser.close()
    yield


@contextmanager
def _named_errors() -> Iterator[None]:
    """Turn what a parser raises into an XmlError that quotes nothing of the file."""
    try:
        yield
    except (expat.ExpatError, ElementTree.ParseError) as error:
        raise XmlError(f"not whole XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, UnicodeError, ValueError):  # an encoding that Python does not know
        raise XmlError("not whole XML: unknown encoding") from None


def _check_prolog(file: BinaryIO) -> None:
    """Raise XmlError if what stands before the root element declares a document type.

    It can stand nowhere else, and without one there are no entities to expand or to fetch.
    """
    has_root = False

    def refuse(*_: object) -> int:
        raise XmlError("it declares a document type or an entity")

    def see_root(*_: object) -> None:
        nonlocal has_root
        has_root = True

    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = refuse
    guard.EntityDeclHandler = refuse
    guard.ExternalEntityRefHandler = refuse
    guard.StartElementHandler = see_root
    while not has_root:
        piece = file.read(_PROLOG_BYTES)
        guard.Parse(piece, not piece)
        if not piece:
            return
