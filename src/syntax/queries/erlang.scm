(function_clause body: (clause_body) @body)

(comment) @comment
