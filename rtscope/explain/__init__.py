"""What ran between the deadline and the answer, as one timeline, from whichever witness."""
