-- `:checkhealth pilcrow`: what is wrong, and the mend of each. It never starts a daemon and never changes anything.
local M = {}

local health = vim.health

local function check_neovim()
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.11 or newer is needed', 'Install a newer Neovim; vim.lsp.config is not in this one.')
  end
end

---@return boolean
local function check_setup()
  local config = require('pilcrow.config')
  if config.is_set_up then
    health.ok('require("pilcrow").setup was called')
  else
    health.warn(
      'require("pilcrow").setup was not called',
      'Put require("pilcrow").setup() into your init.lua; until then documents are known from the first call on.'
    )
  end
  return config.is_set_up
end

---@return boolean
local function check_binary()
  local configured = vim.lsp.config.pilcrow and vim.lsp.config.pilcrow.cmd or require('pilcrow.config').options.cmd
  if type(configured) == 'function' then
    health.info('The daemon is started by a function of yours')
    return true
  end
  local program = configured[1]
  local path = vim.fn.exepath(program)
  if path == '' then
    health.error(("'%s' is not an executable file"):format(program), {
      'Install it: `cargo install --path .` in the repository of Pilcrow puts it on your path.',
      'Or give its path: require("pilcrow").setup { cmd = { "/path/to/pilcrow", "serve", "--stdio" } }',
    })
    return false
  end
  local ran, done = pcall(function()
    return vim.system({ path, '--version' }, { text = true }):wait(5000)
  end)
  local version = ran and done.code == 0 and vim.trim(done.stdout):match('^pilcrow (%S+)')
  if not version then
    health.error(("'%s --version' does not say that it is Pilcrow"):format(path), {
      'Another program has that name: give the path of the right one as `cmd` to require("pilcrow").setup.',
    })
    return false
  end
  health.ok(('pilcrow %s (%s)'):format(version, path))
  return true
end

---@param link pilcrow.Link
local function check_status(link)
  local status, failure = require('pilcrow').status_sync({ root = link.root, timeout = 3000 })
  if not status then
    return health.error(('%s: %s'):format(link.root, failure.message), ':Pilcrow restart, and :Pilcrow log')
  end
  local client = vim.lsp.get_client_by_id(link.client_id)
  health.ok(
    ('%s: pilcrow %s; documents: %d, warm files: %d'):format(
      link.root,
      status.version,
      client and vim.tbl_count(client.attached_buffers) or 0,
      status.buffers.count
    )
  )
  if status.protocol ~= 1 then
    health.error(
      ('it speaks protocol %s, this plugin speaks 1'):format(status.protocol),
      'Take the plugin and the daemon from one release.'
    )
  end
  for _, problem in ipairs(status.problems or {}) do
    local text = type(problem) == 'string' and problem or vim.inspect(problem)
    health.warn(text, 'Mend the `settings` of require("pilcrow").setup.')
  end
  local methods = vim.tbl_get(client or {}, 'server_capabilities', 'experimental', 'pilcrow', 'methods') or {}
  if vim.tbl_contains(methods, 'agent/tools') then
    health.ok('it tells its tools, so chat panels can have them')
  else
    health.warn('it does not tell its tools, so chat panels cannot have them', 'Update pilcrow.')
  end
  if vim.tbl_get(status, 'watches', 'degraded') then
    health.info('it watches fewer folders than it would like: slower, never wrong')
  end
  if client and client.handlers['workspace/applyEdit'] ~= require('pilcrow.handlers')['workspace/applyEdit'] then
    health.error('another handler answers workspace/applyEdit, so stale edits may land', {
      'Take `handlers` out of your vim.lsp.config("pilcrow", …).',
    })
  end
end

local function check_daemons()
  local links = require('pilcrow.daemon').links()
  if #links == 0 then
    health.info('No daemon is running; one is started with the first file of a workspace, or the first call')
  end
  for _, link in ipairs(links) do
    check_status(link)
  end
end

local function check_panels()
  local panels = {
    { 'codecompanion', 'codecompanion.nvim', 'extensions = { pilcrow = {} }' },
    { 'mcphub', 'mcphub.nvim', 'require("pilcrow.mcphub").setup()' },
    { 'avante', 'avante.nvim', 'custom_tools = function() return require("pilcrow.avante").tools() end' },
  }
  for _, panel in ipairs(panels) do
    if #vim.api.nvim_get_runtime_file('lua/' .. panel[1] .. '/init.lua', false) > 0 then
      health.info(('%s is here; it gets the tools by: %s'):format(panel[2], panel[3]))
    end
  end
end

function M.check()
  health.start('pilcrow: Neovim')
  check_neovim()
  check_setup()
  health.start('pilcrow: the daemon')
  if check_binary() then
    check_daemons()
  end
  health.start('pilcrow: chat panels')
  check_panels()
end

return M
