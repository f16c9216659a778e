(method body: (body_statement) @body)
(singleton_method body: (body_statement) @body)
((call receiver: (constant) @_name block: (do_block body: (body_statement) @container))
  (#any-of? @_name "Struct" "Class" "Module" "Data"))
(do_block body: (body_statement) @callback)
(block body: (block_body)) @callback
(lambda body: (do_block body: (body_statement) @body))

[(hash) (array) (string_array) (symbol_array) (string) (heredoc_body)] @literal

(comment) @doc
((call method: (identifier) @_name) @import
  (#any-of? @_name "require" "require_relative" "autoload"))

[(class) (module) (method) (singleton_method)] @definition
(assignment left: [(constant) (scope_resolution)]) @declaration
(alias) @declaration
((call method: (identifier) @_name) @declaration
  (#any-of? @_name "attr_reader" "attr_writer" "attr_accessor"))
(operator_assignment left: (constant)) @declaration
