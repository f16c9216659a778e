(section) @section
[(atx_heading) (setext_heading)] @heading
(fenced_code_block) @literal
[(list) (pipe_table) (block_quote) (html_block) (indented_code_block)] @literal.rest
[(minus_metadata) (plus_metadata)] @literal
(section . [(atx_heading) (setext_heading)]) @declaration
