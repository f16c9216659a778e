(function_body) @body
(create_query) @body
(select) @literal
(comment) @comment
(marginalia) @comment
