"""Data that lie elsewhere than in files: Polars queries, DuckDB, PostgreSQL, Spark, behind one small interface."""
