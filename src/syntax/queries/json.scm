(pair value: [(object) (array)] @literal)
(array [(object) (array)] @literal)

(comment) @comment
(pair) @declaration
