"""What several tests share: instances, twins, Monte Carlo limits, checks of pages."""
