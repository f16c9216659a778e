(function_body) @body

(comment) @comment
(import_directive) @import
