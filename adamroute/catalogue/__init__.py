"""What a shop is: items, photos, users, requests, attributes, preference profiles."""
