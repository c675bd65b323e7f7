"""The history of the schema, one file per step. A step that has been released is never edited."""
