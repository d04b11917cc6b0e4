"""``python -m robx`` is the `robx` command."""

from __future__ import annotations

from robx.cli import main

if __name__ == "__main__":
    main()
