"""Mutations of bytes and of text, the same for every format."""

from __future__ import annotations

import numpy as np

ODD_VALUES = (
    "", "nan", "inf", "-inf", "0", "-1", "1", "1e308", "1e-308", "-0", "99999999", "1e8", "0x10",
    "1_0", "½", "١", "NULL", "\0", "../x", "%s", "1,5", "+5", "  7 ", "36O",
)  # fmt: skip


def mutate_bytes(
    rng: np.random.Generator, data: bytes, *, start: int = 0, stop: int | None = None
) -> bytes:
    """Return the data with a few bytes of a stretch changed, removed, repeated or swapped."""
    stop = len(data) if stop is None else min(stop, len(data))
    content = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(start, max(start + 1, stop)))
        match int(rng.integers(6)):
            case 0 | 1:
                content[at : at + 1] = bytes([int(rng.integers(256))])
            case 2:
                content[at : at + 1] = (
                    bytes([content[at] ^ 1 << int(rng.integers(8))]) if at < len(content) else b""
                )
            case 3:
                del content[at : at + int(rng.integers(1, 9))]
            case 4:
                content[at:at] = rng.bytes(int(rng.integers(1, 9)))
            case _:
                length = int(rng.integers(1, 64))
                content[at : at + length] = content[at : at + length][::-1]
    return bytes(content)


def truncate(rng: np.random.Generator, data: bytes, boundaries: tuple[int, ...]) -> bytes:
    """Return the data cut at a boundary, just beside one, or anywhere."""
    at = int(rng.choice(boundaries)) if rng.random() < 0.7 else int(rng.integers(len(data)))
    return data[: max(0, at + int(rng.integers(-2, 3)))]


def mutate_field(rng: np.random.Generator, data: bytes, fields: list[slice]) -> bytes:
    """Return the data with an odd value in one of its fields of fixed width."""
    field = fields[int(rng.integers(len(fields)))]
    value = str(rng.choice(ODD_VALUES)).encode("utf-8")
    width = field.stop - field.start
    return data[: field.start] + value[:width].ljust(width) + data[field.stop :]


def mutate_tokens(rng: np.random.Generator, text: str) -> str:
    """Return a text with an odd token, or with a line removed, repeated or moved."""
    lines = text.splitlines()
    at = int(rng.integers(len(lines)))
    match int(rng.integers(5)):
        case 0:
            del lines[at]
        case 1:
            lines.insert(int(rng.integers(len(lines))), lines[at])
        case _:
            tokens = lines[at].split(" ")
            tokens[int(rng.integers(len(tokens)))] = str(rng.choice(ODD_VALUES))
            lines[at] = " ".join(tokens)
    return "\n".join(lines) + "\n"
