"""Presets: settings to start from, one TOML file each."""

from __future__ import annotations

from pathlib import Path

PRESET_FOLDER = Path(__file__).parent


def preset_names() -> list[str]:
    """Return the presets that exist."""
    return sorted(path.stem for path in PRESET_FOLDER.glob("*.toml"))
