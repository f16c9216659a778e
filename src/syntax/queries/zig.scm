(function_declaration
  body: (block (expression_statement (return_expression (struct_declaration)))) @container)
(function_declaration body: (block) @body)
(test_declaration (block) @body)
(comptime_declaration (block) @body)

(initializer_list) @literal
(multiline_string) @literal

(comment) @comment
