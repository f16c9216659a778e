(jsx_element) @literal
