"""Commands that studies add, one file per study; its declaration names them, and they are imported when called."""
