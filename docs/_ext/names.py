"""Names that become links to the reference where it has them, and stay code where it does not.

In docstrings a name in single backticks (the default role), in pages code such as ``robx.explain``.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

#: What a name looks like in running text: robx.explain, RobX(tau=0.8), `robx.plots.svg()`.
NAME = re.compile(r"(?:robx\.)?([A-Za-z_][\w.]*)(?:\(.*\))?", re.DOTALL)


def find(app: Any, text: str) -> str | None:
    """Give the full name of what is meant, if the reference has it."""
    match = NAME.fullmatch(text.strip())
    if match is None:
        return None
    full = f"robx.{match.group(1)}"
    return full if full in app.env.get_domain("py").objects else None


def link(app: Any, text: str, docname: str, content: nodes.Node) -> nodes.Node | None:
    """Make a link to the page of a name."""
    full = find(app, text)
    if full is None:
        return None
    entry = app.env.get_domain("py").objects[full]
    if entry.docname == docname:
        return None
    return make_refnode(app.builder, docname, entry.docname, entry.node_id, content, full)


def from_docstring(app: Any, env: Any, node: Any, content: nodes.Node) -> nodes.Node | None:
    """Resolve a name in single backticks: a link, or code."""
    del env
    if node.get("reftype") != "robx_name":
        return None
    return link(app, node["reftarget"], node["refdoc"], content) or content


def in_pages(app: Any, doctree: nodes.document, docname: str) -> None:
    """Link code in running text that names robx or is one of its classes."""
    for code in list(doctree.findall(nodes.literal)):
        text = code.astext()
        inside = isinstance(code.parent, nodes.reference | nodes.title)
        if inside or not (text.startswith("robx.") or text[:1].isupper()):
            continue
        linked = link(app, text, docname, code.deepcopy())
        if linked is not None:
            code.replace_self(linked)


class NameRole(XRefRole):
    """A reference of a type that no domain knows, so that only `from_docstring` resolves it."""

    def run(self) -> Any:
        """Make the reference."""
        made, messages = super().run()
        for node in made:
            node["refdomain"], node["reftype"] = "", "robx_name"
        return made, messages


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_role("name", NameRole(innernodeclass=nodes.literal))
    app.connect("missing-reference", from_docstring)
    app.connect("doctree-resolved", in_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
