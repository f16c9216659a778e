[(function_def (body) @body) (macro_def (body) @body)]

(normal_command) @literal.rest

[(line_comment) (bracket_comment)] @comment

[(function_def) (macro_def)] @definition
