"""Tables of released texts and intervals, held in a few bytes a cell and read in parts."""
