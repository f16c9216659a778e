[(element) (script_element) (style_element)] @markup

(comment) @comment
