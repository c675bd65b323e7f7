"""What an operator sees of a running Preceptor: logs, metrics, traces."""
