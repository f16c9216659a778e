[(run_instruction) (env_instruction) (label_instruction) (copy_instruction) (cmd_instruction)] @literal.rest

(comment) @comment
