"""Data generators and loaders, named as scikit-learn would name them."""
