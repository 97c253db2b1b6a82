"""Row-wise expressions: what is asked of each record on its own, as a small tree that every engine translates."""
