"""The ad hoc steps of the surveys: they promise nothing."""
