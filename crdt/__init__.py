"""Canonical data."""
