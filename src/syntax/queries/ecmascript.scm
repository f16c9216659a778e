(function_declaration body: (statement_block) @body)
(generator_function_declaration body: (statement_block) @body)
(method_definition body: (statement_block) @body)
(class_static_block body: (statement_block) @body)

(arguments (arrow_function body: (statement_block) @callback))
(arguments (function_expression body: (statement_block) @callback))
(arguments (generator_function body: (statement_block) @callback))
(parenthesized_expression (function_expression body: (statement_block) @callback))
(parenthesized_expression (arrow_function body: (statement_block) @callback))

(function_expression body: (statement_block) @body)
(generator_function body: (statement_block) @body)
(arrow_function body: (statement_block) @body)
(arrow_function body: (parenthesized_expression) @body)

[(object) (array) (template_string)] @literal

(decorator) @attribute
(comment) @comment
(import_statement) @import

[(function_declaration) (generator_function_declaration) (class_declaration) (method_definition)] @definition
(variable_declarator value: [(arrow_function) (function_expression) (generator_function) (class)]) @definition
(assignment_expression right: [(arrow_function) (function_expression) (generator_function) (class)]) @definition
(pair value: [(arrow_function) (function_expression) (generator_function)]) @definition
(variable_declarator) @declaration
