"""The graph Stein discrepancy, in the order the data flows: graph, programs, engines, certificate, result."""
