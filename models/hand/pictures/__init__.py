"""Pictures of the hand: a run in; figures, movie and page out."""
