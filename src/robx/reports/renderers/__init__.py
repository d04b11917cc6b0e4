"""The summary of a report as a page (`html`, with its templates beside it) and as `markdown`."""
