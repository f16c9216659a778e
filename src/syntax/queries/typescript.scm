(import_alias) @import
