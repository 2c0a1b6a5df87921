"""How other programs open .ozx files: one thin module for each, loaded by that program."""
