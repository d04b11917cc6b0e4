"""Compiled loops of the comparison methods: arrays in, arrays out."""
