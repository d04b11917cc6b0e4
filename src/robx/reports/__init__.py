"""Reports for people: one summary of plain values, shown as a page, as JSON and as Markdown.

See README.md beside this file for how it is built, and how to add to it.
"""

from __future__ import annotations

from robx.reports.document import Report, report

__all__ = ["Report", "report"]
