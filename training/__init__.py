"""Trains the linear models of the English front end, offline; README.md describes it."""
