"""Tests, in folders named like the packages that they test."""
