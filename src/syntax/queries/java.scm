(method_declaration body: (block) @body)
(constructor_declaration body: (constructor_body) @body)
(compact_constructor_declaration body: (block) @body)
(static_initializer (block) @body)
(class_body (block) @body)
(argument_list (lambda_expression body: (block) @callback))
(lambda_expression body: (block) @body)

(annotation) @keep
(array_initializer) @literal
(string_literal) @literal
(switch_block) @literal

[(line_comment) (block_comment)] @comment
(import_declaration) @import
