"""The paper's tables, made again: a spec for each, the published figures, and one runner."""
