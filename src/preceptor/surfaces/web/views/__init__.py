"""What pages show, made of what features tell. Pure."""
