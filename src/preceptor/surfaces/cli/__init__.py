"""The command line. Heavy parts are imported inside the commands, so that `preceptor --help` answers at once."""
