"""The machinery of chains: their run, readers of data, likelihood terms, proposals, random streams, records."""
