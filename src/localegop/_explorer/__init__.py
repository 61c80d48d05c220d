"""The explorer: a page in the browser on which a model's predictions can be looked into."""
