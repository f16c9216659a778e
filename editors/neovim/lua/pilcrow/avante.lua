-- The tools for avante.nvim's `custom_tools`. What a schema says is never widened: what avante.nvim has no words for, the daemon enforces.
local tools = require('pilcrow.tools')

local M = {}

---@param schema table of one value, in JSON Schema
---@return string
local function type_of(schema)
  local named = schema.type
  if type(named) == 'table' then
    named = vim.iter(named):find(function(name)
      return name ~= 'null'
    end)
  end
  if named then
    return named
  end
  for _, choice in ipairs(schema.anyOf or schema.oneOf or {}) do
    if choice.type ~= 'null' then
      return type_of(choice)
    end
  end
  return 'string'
end

local fields_of

---@param name string
---@param schema table
---@param optional boolean
local function field_of(name, schema, optional)
  local field = {
    name = name,
    type = type_of(schema),
    description = schema.description,
    optional = optional,
    choices = schema.enum,
  }
  if field.type == 'object' and schema.properties then
    field.fields = fields_of(schema)
  elseif field.type == 'array' and type(schema.items) == 'table' then
    field.items = field_of('item', schema.items, false)
  end
  return field
end

---@param schema table of an object
---@return table[]
function fields_of(schema)
  local required = {}
  for _, name in ipairs(schema.required or {}) do
    required[name] = true
  end
  local names = vim.tbl_keys(schema.properties or {})
  table.sort(names, function(one, other)
    if (required[one] or false) ~= (required[other] or false) then
      return required[one] or false
    end
    return one < other
  end)
  return vim.tbl_map(function(name)
    return field_of(name, schema.properties[name], not required[name])
  end, names)
end

---Asks before a change, where avante.nvim can.
---@param kind string
---@param input table
---@param context? table avante's own session
---@param then_do fun(is_allowed: boolean)
local function ask(kind, input, context, then_do)
  local has_helpers, helpers = pcall(require, 'avante.llm_tools.helpers')
  if not has_helpers or not helpers.confirm then
    return then_do(vim.fn.confirm(tools.question(kind, input), '&Yes\n&No', 2) == 1)
  end
  helpers.confirm(tools.question(kind, input), then_do, nil, context, 'pilcrow_' .. kind)
end

---@param kind string
---@param tool pilcrow.Tool
---@param opts { session: string, confirm: boolean }
local function tool_of(kind, tool, opts)
  return {
    name = 'pilcrow_' .. kind,
    description = tool.description,
    param = { type = 'table', fields = fields_of(tool.inputSchema) },
    returns = {
      { name = 'result', description = 'What is there, or what was changed', type = 'string' },
      { name = 'error', description = 'Why not, and how to go on', type = 'string', optional = true },
    },
    func = function(input, own)
      local function run()
        tools.run(kind, input, { session = opts.session }, function(text, is_error)
          if is_error then
            return own.on_complete(nil, text)
          end
          own.on_complete(text, nil)
        end)
      end
      if not opts.confirm or not tools.changes_files(kind) then
        return run()
      end
      ask(kind, input, own.session_ctx, function(is_allowed)
        if is_allowed then
          return run()
        end
        own.on_complete(nil, 'The user declined this; nothing was changed.')
      end)
    end,
  }
end

---The tools, for `custom_tools = function() return require('pilcrow.avante').tools() end`.
---@param opts? { session?: string, confirm_edits?: boolean }
---@return table[]
function M.tools(opts)
  opts = opts or {}
  local confirm = vim.F.if_nil(opts.confirm_edits, require('pilcrow.config').options.confirm_edits)
  local list = tools.list()
  local made = {}
  for _, kind in ipairs(tools.names) do
    if list[kind] then
      made[#made + 1] = tool_of(kind, list[kind], { session = opts.session or 'avante', confirm = confirm })
    end
  end
  return made
end

return M
