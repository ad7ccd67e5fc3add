"""Tests of the provider adapters."""
