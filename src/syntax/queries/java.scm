(method_declaration body: (block) @body)
(constructor_declaration body: (constructor_body) @body)
(compact_constructor_declaration body: (block) @body)
(static_initializer (block) @body)
(class_body (block) @body)
(argument_list (lambda_expression body: (block) @callback))
(lambda_expression body: (block) @body)

[(annotation) (marker_annotation)] @attribute
(variable_declarator value: (method_invocation arguments: (argument_list) @literal))
(variable_declarator value: (object_creation_expression arguments: (argument_list) @literal))
(array_initializer) @literal
(string_literal) @literal
(switch_block) @literal

[(line_comment) (block_comment)] @comment
(import_declaration) @import

[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration) (annotation_type_declaration)] @definition
[(method_declaration) (constructor_declaration) (compact_constructor_declaration)] @definition
[(field_declaration) (constant_declaration) (enum_constant) (annotation_type_element_declaration)] @declaration
