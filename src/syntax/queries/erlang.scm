(function_clause body: (clause_body) @body)

(comment) @comment

[(fun_decl) (record_decl)] @definition
[(type_alias) (opaque) (pp_define)] @declaration
