(function_declaration (function_body (block) @body))
(function_declaration (function_body) @body)
(anonymous_function (function_body (block) @body))
(secondary_constructor (block) @body)
(anonymous_initializer (block) @body)
(getter (function_body) @body)
(setter (function_body) @body)
(annotated_lambda (lambda_literal) @callback)
(lambda_literal) @body
(when_expression) @literal

(property_declaration (call_expression (value_arguments) @literal))
[(string_literal) (multiline_string_literal) (collection_literal)] @literal

(annotation) @attribute
[(line_comment) (block_comment)] @comment
(import) @import

[(class_declaration) (object_declaration) (companion_object) (function_declaration) (secondary_constructor)] @definition
[(property_declaration) (type_alias) (enum_entry)] @declaration
