"""The fitted model: predictions, uncertainty, traces, files."""
