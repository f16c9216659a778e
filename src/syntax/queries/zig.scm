(function_declaration
  body: (block (expression_statement (return_expression (struct_declaration)))) @container)
(function_declaration body: (block) @body)
(test_declaration (block) @body)
(comptime_declaration (block) @body)

(initializer_list) @literal
(multiline_string) @literal

(comment) @comment

[(function_declaration) (test_declaration)] @definition
(variable_declaration [(struct_declaration) (enum_declaration) (union_declaration)]) @definition
[(variable_declaration) (container_field)] @declaration
