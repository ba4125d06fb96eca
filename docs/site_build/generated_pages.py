"""Pages that are made from the code, so that they cannot fall behind it."""

from __future__ import annotations

from docs.site_build.command_pages import commands_markdown
from flows.cli.reference import settings_markdown
from storage.index.columns import schema_markdown

_CONFIGURATION = """# Configuration

Every setting with its default. `deaps config` prints the same with the values that hold in your
folder, and where each comes from.

Settings come from a preset (`--preset demo`, `open` or `paper`), from `deaps.toml` in the working
folder (or `--config FILE`), and from `--set section.key=value`. Later ones win. A misspelt key
stops the command with a suggestion. Only `signal` and `quality` change what is in a window file;
`execution` changes no result at all.

```toml
# deaps.toml
preset = "paper"

[data]
shhs = "/data/shhs"

[store]
root = "/data/store"
```
"""

_SCHEMA = """# Schema

Every table and view of `index.duckdb`, and every column. `deaps schema` prints the same, and the
index has it as comments (`SELECT * FROM duckdb_columns()`). [The store](store.md) shows how to
ask.
"""


def generated_pages() -> dict[str, str]:
    """Return the text of each page that is made from the code."""
    return {
        "commands.md": commands_markdown(),
        "configuration.md": f"{_CONFIGURATION}\n{settings_markdown()}\n",
        "schema.md": f"{_SCHEMA}\n{schema_markdown()}\n",
    }
