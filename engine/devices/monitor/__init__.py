"""What the devices do, and how they are."""
