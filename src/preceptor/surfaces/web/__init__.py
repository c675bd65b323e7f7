"""Pages for people: server-rendered, complete without JavaScript, streaming with it."""
