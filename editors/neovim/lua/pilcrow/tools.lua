-- The daemon's tools, as chat panels want them. No description and no schema is written here: they are the daemon's own.
local M = {}

---The daemon's names, and the methods behind them.
---@type table<string, string>
M.methods = {
  read = 'agent/read',
  read_many = 'agent/readMany',
  search = 'agent/search',
  edit = 'agent/edit',
  write = 'agent/write',
}

---In the order of a tool list.
M.names = { 'read', 'read_many', 'search', 'edit', 'write' }

---Whether a tool changes files.
---@param name string
function M.changes_files(name)
  return name == 'edit' or name == 'write'
end

---@class pilcrow.Tool
---@field name string the daemon's
---@field description string
---@field inputSchema table

---The daemon's tools, by their names; an error is raised where it cannot tell them.
---@param root? string
---@return table<string, pilcrow.Tool>
function M.list(root)
  local told, failure = require('pilcrow').tools_sync({ root = root, timeout = 10000 })
  if not told then
    error('pilcrow: ' .. failure.message, 0)
  end
  local tools = {}
  for _, tool in ipairs(told.tools) do
    if M.methods[tool.name] then
      tools[tool.name] = tool
    end
  end
  return tools
end

---Carries out what a model asked for.
---@param name string
---@param input table as the tool's schema has it
---@param opts { session?: string, root?: string }
---@param callback fun(text: string, is_error: boolean, result?: table) the text is for the model
---@return pilcrow.Cancel
function M.run(name, input, opts, callback)
  local pilcrow = require('pilcrow')
  local function answer(failure, result)
    if failure then
      return callback(failure.message, true)
    end
    if name == 'read_many' then
      return callback(M.text_of_many(result), false, result)
    end
    callback(pilcrow.text(result), result.isError == true, result)
  end
  if name == 'edit' then
    return pilcrow.edit(input, vim.tbl_extend('error', { dryRun = input.dryRun }, opts), answer)
  end
  if name == 'write' then
    local own = { expect = input.expect, dryRun = input.dryRun }
    return pilcrow.write(input.path, input.text, vim.tbl_extend('error', own, opts), answer)
  end
  -- What the schema has is the method's own parameters.
  local params = vim.tbl_extend('force', input, { session = opts.session })
  local daemon = require('pilcrow.daemon')
  return daemon.request(opts.root or daemon.root_of(input.path), M.methods[name], params, answer)
end

---@param result { results: { ok?: pilcrow.ReadResult, error?: pilcrow.Error }[] }
---@return string
function M.text_of_many(result)
  local parts = vim.tbl_map(function(one)
    return one.ok and require('pilcrow').text(one.ok) or one.error.message
  end, result.results)
  return table.concat(parts, '\n\n')
end

---What a call is about, for a person.
---@param name string
---@param input table
---@return string
function M.summary(name, input)
  if name == 'read' or name == 'write' then
    return ('%s %s'):format(name == 'read' and 'Read' or 'Write', tostring(input.path))
  end
  if name == 'search' then
    local where = input.path and (' in ' .. tostring(input.path)) or ''
    return ('Search for %s%s'):format(tostring(input.pattern), where)
  end
  local paths = {}
  local named = type(input.paths) == 'table' and input.paths or { input.paths }
  for _, path in ipairs(named) do
    paths[#paths + 1] = tostring(path)
  end
  if name == 'read_many' then
    return 'Read ' .. table.concat(paths, ', ')
  end
  for path in (input.patch or ''):gmatch('¶([^\n]-)#%x+') do
    paths[#paths + 1] = path
  end
  for _, file in ipairs(input.files or {}) do
    paths[#paths + 1] = file.path
  end
  return 'Edit ' .. (#paths > 0 and table.concat(paths, ', ') or 'files')
end

---What a person is asked before a tool changes files.
---@param name string
---@param input table
---@return string
function M.question(name, input)
  return M.summary(name, input) .. '?'
end

return M
