"""How each product of the demo shop is drawn: one function per product type."""
