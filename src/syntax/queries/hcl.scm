(block) @literal
[(object) (tuple) (heredoc_template)] @literal

(comment) @comment
