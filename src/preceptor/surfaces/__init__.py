"""Who calls us: REST, the web, the command line. They translate; they do not decide."""
