"""Small networks of many kinds, for export, and the exporter."""
