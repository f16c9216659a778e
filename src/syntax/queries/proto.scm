(comment) @comment
(import) @import
