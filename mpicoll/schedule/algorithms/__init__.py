"""One module a collective, one function an algorithm; the folder is the catalogue."""
