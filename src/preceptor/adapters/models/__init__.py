"""Models: what answers, behind one port."""
