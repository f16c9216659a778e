(method_declaration body: (block) @body)
(method_declaration body: (arrow_expression_clause) @body)
(constructor_declaration body: (block) @body)
(destructor_declaration body: (block) @body)
(operator_declaration body: (block) @body)
(conversion_operator_declaration body: (block) @body)
(local_function_statement body: (block) @body)
(property_declaration accessors: (accessor_list) @body)
(indexer_declaration accessors: (accessor_list) @body)
(event_declaration accessors: (accessor_list) @body)
(property_declaration value: (arrow_expression_clause) @body)
(argument (lambda_expression body: (block) @callback))
(lambda_expression body: (block) @body)
(anonymous_method_expression (block) @body)
(switch_expression) @literal

(initializer_expression) @literal
[(raw_string_literal) (verbatim_string_literal) (interpolated_string_expression)] @literal

(attribute_list) @attribute
(comment) @comment
(using_directive) @import

[(class_declaration) (struct_declaration) (interface_declaration) (enum_declaration) (record_declaration)] @definition
[(method_declaration) (constructor_declaration) (destructor_declaration) (operator_declaration) (conversion_operator_declaration) (local_function_statement)] @definition
[(namespace_declaration) (delegate_declaration) (property_declaration) (field_declaration)] @declaration
[(indexer_declaration) (event_declaration) (event_field_declaration) (enum_member_declaration)] @declaration
