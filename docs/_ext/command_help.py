"""The `robx-help` directive: what ``robx COMMAND --help`` says, as it says it."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

#: Columns of the terminal that is shown.
WIDTH = 80


class Help(SphinxDirective):
    """Show the help of a command; without a name that of robx itself."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Ask the command."""
        from robx.cli import robx_command  # noqa: PLC0415 - where it is asked for

        words = self.arguments[0].split() if self.arguments else []
        asked = CliRunner().invoke(
            robx_command,
            [*words, "--help"],
            prog_name="robx",
            terminal_width=WIDTH,
            max_content_width=WIDTH,
        )
        if asked.exit_code != 0:
            raise self.error(f"'robx {' '.join(words)} --help' failed: {asked.output}")
        text = asked.output.rstrip() + "\n"
        return [nodes.literal_block(text, text, language="text", classes=["robx-help"])]


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("robx-help", Help)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
