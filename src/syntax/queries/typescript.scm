(decorator) @keep
