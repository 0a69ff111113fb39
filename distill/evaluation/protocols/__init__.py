"""Published evaluation protocols, run over a shop folder with this project's own stages."""
