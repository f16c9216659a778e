(function_body) @body
(create_query) @literal
[(statement (cte)) (statement (select)) (statement (insert)) (statement (update)) (statement (delete))] @literal.rest

[(comment) (marginalia)] @comment
