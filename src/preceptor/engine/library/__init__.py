"""What the features of the library share: finding instructions, giving them, showing and letting go of them."""
