(function_body) @body
(function_expression_body) @callback

[(list_literal) (set_or_map_literal) (string_literal)] @literal

(annotation) @attribute
[(comment) (documentation_comment)] @comment

[(class_declaration) (mixin_declaration) (enum_declaration) (extension_declaration) (extension_type_declaration)] @definition
[(function_declaration) (method_declaration) (local_function_declaration) (getter_declaration) (setter_declaration)] @definition
[(top_level_variable_declaration) (declaration) (enum_entry) (type_alias)] @declaration
