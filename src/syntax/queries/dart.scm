(function_body) @body
(function_expression_body) @callback

[(list_literal) (set_or_map_literal) (string_literal)] @literal

[(comment) (documentation_comment)] @comment
