(argument value: (function_definition body: (braced_expression) @callback))
(function_definition body: (braced_expression) @body)
(binary_operator rhs: (call arguments: (arguments) @literal))

(string) @literal

(comment) @comment
((call function: (identifier) @_name) @import
  (#any-of? @_name "library" "require" "source" "suppressPackageStartupMessages"))

(binary_operator rhs: (function_definition)) @definition
(program (binary_operator lhs: (identifier)) @declaration)
