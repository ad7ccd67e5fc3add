"""Say which version this is; the packaging file names the same."""

VERSION = "0.1.0"
