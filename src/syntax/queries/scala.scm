(function_definition body: [(block) (indented_block) (call_expression) (match_expression) (if_expression) (for_expression) (try_expression)] @body)
(val_definition value: (block) @body)
(lambda_expression (block) @body)

(val_definition value: (call_expression arguments: (arguments) @literal))
(string) @literal
(interpolated_string_expression) @literal

(annotation) @attribute
[(comment) (block_comment)] @comment
(import_declaration) @import

[(class_definition) (object_definition) (trait_definition) (enum_definition) (function_definition) (function_declaration)] @definition
[(val_definition) (var_definition) (val_declaration) (var_declaration) (type_definition) (given_definition)] @declaration
