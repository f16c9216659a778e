(source_code expression: [(attrset_expression) (rec_attrset_expression)] @container)
(function_expression body: [(attrset_expression) (rec_attrset_expression)] @container)
(function_expression body: (apply_expression argument: [(attrset_expression) (rec_attrset_expression)] @container))
(let_expression body: [(attrset_expression) (rec_attrset_expression)] @container)
(let_expression body: (apply_expression argument: [(attrset_expression) (rec_attrset_expression)] @container))
(binding expression: (function_expression) @body)

[(attrset_expression) (rec_attrset_expression) (list_expression)] @literal
[(indented_string_expression) (string_expression)] @literal

(comment) @comment

(binding expression: (function_expression)) @definition
(binding) @declaration
