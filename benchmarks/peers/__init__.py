"""The same turns with other frameworks, as their own manuals have them written. They are no dependencies of ours."""
