"""Engine `chain`: an interior point method on sorted points of one dimension."""
