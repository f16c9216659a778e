(function_declaration body: (block) @body)
(arguments (function_definition body: (block) @callback))
(function_definition body: (block) @body)

(table_constructor) @literal
(string) @literal

(comment) @comment
