-- The options of `setup`. They are never read from the workspace: it may be hostile.
local M = {}

---@class pilcrow.Config
---@field cmd string[] how the daemon is started
---@field env? table<string, string> added to its environment
---@field settings? table the settings of the daemon, as its README has them
---@field root_markers string[] what makes a folder a workspace
---@field autostart boolean start with the first file of a workspace; else with the first call
---@field restarts { count: integer, seconds: integer } how often a daemon that fell is started again
---@field confirm_edits boolean whether chat panels ask before an edit, where they can
---@field resources table<string, pilcrow.Resolver> who has what is behind addresses of a scheme: `jira` for `jira://…`

---@type pilcrow.Config
M.defaults = {
  cmd = { 'pilcrow', 'serve', '--stdio' },
  env = nil,
  settings = {},
  root_markers = { '.git', '.hg', '.jj', '.svn' },
  autostart = true,
  restarts = { count = 5, seconds = 180 },
  confirm_edits = true,
  resources = {},
}

---@type pilcrow.Config
M.options = vim.deepcopy(M.defaults)

---Whether `setup` was called.
M.is_set_up = false

---@type table<string, string>
local kinds = {
  cmd = 'table',
  env = 'table',
  settings = 'table',
  root_markers = 'table',
  autostart = 'boolean',
  restarts = 'table',
  confirm_edits = 'boolean',
  resources = 'table',
}

---Schemes that the daemon keeps to itself.
local OWN = { 'file', 'http', 'https', 'artifact', 'local' }

---@param resources table<string, pilcrow.Resolver>
local function check_resources(resources)
  for scheme, resolver in pairs(resources) do
    if type(scheme) ~= 'string' or not scheme:match('^%l[%l%d+.-]+$') then
      error(('pilcrow: resources: %s is no name of a scheme, such as jira'):format(vim.inspect(scheme)), 0)
    end
    if vim.list_contains(OWN, scheme) then
      error(('pilcrow: resources: %s:// is the daemon\'s own'):format(scheme), 0)
    end
    vim.validate('resources.' .. scheme, resolver, 'function')
  end
end

---@param options? table
function M.set(options)
  options = options or {}
  for name, value in pairs(options) do
    if not kinds[name] then
      local known = vim.tbl_keys(kinds)
      table.sort(known)
      error(('pilcrow: no option is called %q; there are %s'):format(name, table.concat(known, ', ')), 0)
    end
    vim.validate(name, value, kinds[name])
  end
  check_resources(options.resources or {})
  M.options = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), options)
  -- A list replaces the default list.
  for _, name in ipairs({ 'cmd', 'root_markers' }) do
    M.options[name] = options[name] or vim.deepcopy(M.defaults[name])
  end
  M.is_set_up = true
end

return M
