"""Ray Serve wiring: plain classes, wrapped in `build_app(config)`."""
