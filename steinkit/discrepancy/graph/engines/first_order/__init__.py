"""Engine `first_order`: restarted Halpern PDHG on up to eight coordinates at once."""
