; A script at the top is parsed on its own, and what folds in it is seen there.
(document (script_element) @container)

[(element) (script_element) (style_element)] @markup

(comment) @comment
