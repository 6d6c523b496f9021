"""The command line: one file per command in ``commands``, each a thin call of a public function."""
