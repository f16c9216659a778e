(block) @literal
[(object) (tuple) (heredoc_template)] @literal

(comment) @comment
[(block) (attribute)] @declaration
