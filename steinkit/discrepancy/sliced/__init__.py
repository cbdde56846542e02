"""The sliced graph Stein discrepancy: linear programs of one variable along directions, in every dimension."""
