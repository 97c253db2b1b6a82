"""What a model holds, keeps and must forget."""
