"""Programs are read by a type checker, never run."""

collect_ignore = ["programs"]
