(function_definition body: (compound_statement) @body)
(method_declaration body: (compound_statement) @body)
(argument (anonymous_function body: (compound_statement) @callback))
(anonymous_function body: (compound_statement) @body)
(property_hook_list) @body

(attribute_list) @attribute
(array_creation_expression) @literal
[(heredoc) (nowdoc) (string) (encapsed_string)] @literal

(comment) @comment
(namespace_use_declaration) @import

[(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration) (function_definition) (method_declaration)] @definition
[(const_declaration) (property_declaration) (enum_case)] @declaration
(namespace_definition body: (_)) @declaration
