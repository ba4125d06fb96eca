"""SQL of the view `passed_windows`: the windows that the gate does not reject."""

from __future__ import annotations

from storage.schema import GATE_FLAGS

_VIEW = "CREATE OR REPLACE {kind} passed_windows AS SELECT * FROM windows WHERE NOT ({rejected})"


def gate_view_sql(*, temporary: bool = False) -> str:
    """Return the statement that makes the view, in the index or for one connection alone."""
    kind = "TEMP VIEW" if temporary else "VIEW"
    return _VIEW.format(kind=kind, rejected=" OR ".join(GATE_FLAGS))
