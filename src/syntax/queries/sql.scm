; `AS $$`, or `RETURN`: the head says how the body is quoted.
(function_body) @body.rest
(create_query) @literal
[(statement (cte)) (statement (select)) (statement (insert)) (statement (update)) (statement (delete))] @literal.rest

[(comment) (marginalia)] @comment

[(create_function) (create_table)] @definition
[(create_view) (create_materialized_view) (create_index) (create_type) (create_trigger) (create_sequence)] @declaration
