(rule (recipe) @body)
(define_directive value: (raw_text) @literal)
(variable_assignment value: (text)) @literal.rest

(comment) @comment
[(rule) (variable_assignment) (define_directive)] @declaration
