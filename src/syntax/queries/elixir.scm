((call target: (identifier) @_name (do_block) @body)
  (#any-of? @_name "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate"))
((call target: (identifier) @_name (do_block) @callback)
  (#any-of? @_name "test" "setup" "setup_all" "property" "schema" "embedded_schema" "quote"))
((unary_operator operand: (call target: (identifier) @_name)) @doc
  (#any-of? @_name "doc" "moduledoc" "typedoc" "shortdoc"))

[(map) (list) (keywords) (tuple) (string) (sigil)] @literal

(comment) @comment
((call target: (identifier) @_name) @import
  (#any-of? @_name "import" "alias" "require" "use"))

((call target: (identifier) @_name) @definition
  (#any-of? @_name "def" "defp" "defmacro" "defmacrop" "defguard" "defmodule" "defprotocol" "defimpl"))
