"""Shop folders made from something else: the demo generator and public data sets."""
