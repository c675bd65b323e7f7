"""Many people talking at once to real servers, over real sockets, with a model that takes its time."""
