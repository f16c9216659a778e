-- The daemons, one for each workspace: started, found, started again when they fall. A request is never sent to a daemon that has not said it is ready.
local config = require('pilcrow.config')
local documents = require('pilcrow.documents')

local M = {}

---One run of a daemon.
---@class pilcrow.Link
---@field root string
---@field client_id integer
---@field ready boolean
---@field leaving boolean whether it was asked to go
---@field told table<string, pilcrow.Told> by URI
---@field line_ends table<string, integer> how many the told text has, by URI
---@field waiting fun(failure?: pilcrow.Error, client?: vim.lsp.Client)[]
---@field pending table<integer, fun(failure: pilcrow.Error)> what is not answered yet

---@type table<string, pilcrow.Link> by root
local links = {}

---@type table<string, number[]> when a daemon fell, by root
local falls = {}

---An error of ours, in the shape of the daemon's.
---@param message string
---@param kind? string
---@return pilcrow.Error
function M.failure(message, kind)
  local code = kind == 'cancelled' and -32800 or -32803
  return { code = code, message = message, data = { kind = kind or 'unsupported', retryable = kind == 'io' } }
end

---@param message string
local function warn(message)
  vim.schedule(function()
    vim.notify('pilcrow: ' .. message, vim.log.levels.WARN)
  end)
end

---@return string
local function workspace_of_cwd()
  local cwd = assert(vim.uv.cwd())
  return vim.fs.root(cwd, config.options.root_markers) or cwd
end

---The workspace that a path is read in: that of the working directory, unless the path lies elsewhere.
---@param path? string as it is given to a read
---@return string
function M.root_of(path)
  local own = workspace_of_cwd()
  if path and path:match('^file://') then
    path = vim.uri_to_fname(path)
  end
  if not path or path:sub(1, 1) ~= '/' or path == '/' or documents.is_below(path, own) then
    return own
  end
  local folder = vim.fs.dirname(path)
  while not vim.uv.fs_stat(folder) do
    folder = vim.fs.dirname(folder)
  end
  return vim.fs.root(folder, config.options.root_markers) or folder
end

---@param root string
---@return string
local function normal(root)
  root = vim.fs.normalize(vim.fn.fnamemodify(root, ':p'))
  return #root > 1 and root:gsub('/$', '') or root
end

---The running daemons.
---@return pilcrow.Link[]
function M.links()
  return vim.tbl_values(links)
end

---@param client_id integer
---@return pilcrow.Link?
function M.link_of(client_id)
  for _, link in pairs(links) do
    if link.client_id == client_id then
      return link
    end
  end
end

---Whether the daemon of a root can read a file at this path.
---@param link pilcrow.Link
---@param path string
---@return boolean
local function concerns(link, path)
  local access = vim.tbl_get(config.options.settings, 'access') or {}
  if access.outsideWorkspace == 'read' or access.outsideWorkspace == 'allow' then
    return true
  end
  local roots = vim.list_extend({ link.root }, access.additionalRoots or {})
  return vim.iter(roots):any(function(root)
    return documents.is_below(path, root)
  end)
end

---Lets every daemon that can read a buffer's file know of the buffer.
---@param bufnr integer
function M.attach(bufnr)
  local path = documents.path(bufnr)
  if not path then
    return
  end
  for _, link in pairs(links) do
    if link.client_id and concerns(link, path) then
      documents.watch(bufnr)
      vim.lsp.buf_attach_client(bufnr, link.client_id)
    end
  end
end

---Lets all daemons forget of a buffer, by the name that it has now.
---@param bufnr integer
function M.detach(bufnr)
  for _, link in pairs(links) do
    local client = link.client_id and vim.lsp.get_client_by_id(link.client_id)
    if client and client.attached_buffers[bufnr] then
      vim.lsp.buf_detach_client(bufnr, link.client_id)
    end
  end
end

---@param link pilcrow.Link
local function attach_all(link)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local path = documents.path(bufnr)
    if path and concerns(link, path) then
      documents.watch(bufnr)
      vim.lsp.buf_attach_client(bufnr, link.client_id)
    end
  end
end

---@param link pilcrow.Link
---@param failure? pilcrow.Error
---@param client? vim.lsp.Client
local function settle(link, failure, client)
  local waiting = link.waiting
  link.waiting = {}
  for _, waits in ipairs(waiting) do
    waits(failure, client)
  end
end

---Whether a daemon that fell now is to be started again.
---@param root string
---@return boolean
local function may_restart(root)
  local limit = config.options.restarts
  local now = vim.uv.hrtime() / 1e9
  local recent = vim.tbl_filter(function(at)
    return now - at < limit.seconds
  end, falls[root] or {})
  recent[#recent + 1] = now
  falls[root] = recent
  return #recent <= limit.count
end

---@param link pilcrow.Link
---@param code integer
---@param signal integer
local function fell(link, code, signal)
  if links[link.root] == link then
    links[link.root] = nil
  end
  local how = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
  local wanted = link.leaving or vim.v.exiting ~= vim.NIL
  local failure = M.failure(
    wanted and 'The Pilcrow daemon was stopped before it answered.'
      or ('The Pilcrow daemon ended (%s) before it answered; send the request again.'):format(how),
    'io'
  )
  for _, callback in pairs(link.pending) do
    callback(failure)
  end
  link.pending = {}
  local was_ready = link.ready
  settle(link, failure)
  if wanted then
    return
  end
  if not was_ready then
    return warn(('the daemon ended (%s) before it was ready; see :checkhealth pilcrow'):format(how))
  end
  if not may_restart(link.root) then
    return warn(
      ('the daemon of %s fell %d times in %d s (%s) and is left down; see :Pilcrow log, then :Pilcrow restart'):format(
        link.root,
        config.options.restarts.count + 1,
        config.options.restarts.seconds,
        how
      )
    )
  end
  M.get(link.root, function() end)
end

---The transport of a daemon, with an ear on what is sent through it.
---@param link pilcrow.Link
---@param cmd string[]|fun(dispatchers: vim.lsp.rpc.Dispatchers, config: vim.lsp.ClientConfig): vim.lsp.rpc.PublicClient
---@return fun(dispatchers: vim.lsp.rpc.Dispatchers, config: vim.lsp.ClientConfig): vim.lsp.rpc.PublicClient
local function transport(link, cmd)
  return function(dispatchers, client_config)
    local rpc ---@type vim.lsp.rpc.PublicClient
    if type(cmd) == 'function' then
      rpc = cmd(dispatchers, client_config)
    else
      rpc = vim.lsp.rpc.start(cmd, dispatchers, { cwd = link.root, env = client_config.cmd_env })
    end
    return {
      request = function(method, ...)
        link.leaving = link.leaving or method == 'shutdown'
        return rpc.request(method, ...)
      end,
      notify = function(method, params)
        local is_sent = rpc.notify(method, documents.as_sent(link, method, params))
        documents.was_sent(link, method, params, rpc.notify)
        return is_sent
      end,
      is_closing = rpc.is_closing,
      terminate = function()
        link.leaving = true
        return rpc.terminate()
      end,
    }
  end
end

---What `vim.lsp.config('pilcrow', …)` is given; users may add to it there.
---@return vim.lsp.Config
function M.lsp_config()
  local options = config.options
  return {
    cmd = options.cmd,
    cmd_env = options.env,
    handlers = require('pilcrow.handlers'),
    -- An empty table would be sent as a list.
    settings = next(options.settings) and { pilcrow = options.settings } or nil,
    init_options = next(options.settings) and options.settings or nil,
    capabilities = {
      workspace = {
        applyEdit = true,
        workspaceEdit = {
          documentChanges = true,
          resourceOperations = {},
          normalizesLineEndings = false,
        },
      },
      experimental = {
        pilcrow = {
          saveDocument = true,
          followFile = true,
          resources = next(options.resources) and { schemes = vim.tbl_keys(options.resources) } or nil,
        },
      },
    },
  }
end

---@param value any
---@return any[]
local function list(value)
  return vim.islist(value or {}) and value or { value }
end

---@param root string
---@return pilcrow.Link? link
---@return pilcrow.Error? failure
local function start(root)
  if not config.is_set_up then
    require('pilcrow').setup()
  end
  local client_config = vim.deepcopy(vim.lsp.config.pilcrow)
  local cmd = client_config.cmd
  if type(cmd) == 'table' and vim.fn.executable(cmd[1]) ~= 1 then
    return nil, M.failure(
      ("The Pilcrow daemon cannot be started: '%s' is not an executable file. Install it, or give its path as `cmd` to require('pilcrow').setup; :checkhealth pilcrow says more."):format(
        cmd[1]
      )
    )
  end
  if not vim.uv.fs_stat(root) then
    return nil, M.failure(("The workspace '%s' is not there."):format(root), 'notFound')
  end
  ---@type pilcrow.Link
  local link = { root = root, ready = false, leaving = false, told = {}, line_ends = {}, waiting = {}, pending = {} }
  client_config.name = 'pilcrow'
  client_config.root_dir = root
  client_config.workspace_folders = nil
  client_config.cmd = transport(link, cmd)
  client_config.on_init = vim.list_extend({
    function(client, answer)
      link.client_id = client.id
      local version = vim.tbl_get(answer or {}, 'serverInfo', 'version')
      local why = version and require('pilcrow.version').mismatch(version)
      if why then
        link.leaving = true
        links[link.root] = nil
        warn(why)
        settle(link, M.failure(why))
        client:stop(true)
        return
      end
      link.ready = true
      attach_all(link)
      -- What waits is let go when the documents are with the daemon.
      vim.schedule(function()
        settle(link, nil, client)
      end)
    end,
  }, list(client_config.on_init))
  client_config.on_exit = vim.list_extend({
    vim.schedule_wrap(function(code, signal)
      fell(link, code, signal)
    end),
  }, list(client_config.on_exit))
  links[root] = link
  local client_id = vim.lsp.start(client_config, {
    attach = false,
    silent = true,
    reuse_client = function()
      return false
    end,
  })
  if not client_id then
    links[root] = nil
    return nil, M.failure("The Pilcrow daemon cannot be started; :checkhealth pilcrow and :lua vim.cmd.edit(vim.lsp.log.get_filename()) say why.")
  end
  link.client_id = client_id
  return link
end

---The daemon of a workspace, when it is ready.
---@param root? string
---@param callback fun(failure?: pilcrow.Error, client?: vim.lsp.Client)
function M.get(root, callback)
  root = normal(root or M.root_of())
  local link = links[root]
  if link and link.leaving then
    link = nil
  end
  if not link then
    local failure
    link, failure = start(root)
    if not link then
      return callback(failure)
    end
  end
  local client = link.ready and vim.lsp.get_client_by_id(link.client_id)
  if client and #link.waiting == 0 then
    return callback(nil, client)
  end
  link.waiting[#link.waiting + 1] = callback
end

---Sends a request; the callback is called once, on the main loop.
---@param root? string
---@param method string
---@param params table
---@param callback fun(failure?: pilcrow.Error, result?: any)
---@return pilcrow.Cancel
function M.request(root, method, params, callback)
  local is_done, cancelled = false, false
  local client, id
  local function done(failure, result)
    if not is_done then
      is_done = true
      callback(failure, result)
    end
  end
  M.get(root, function(failure, found)
    if failure or not found or cancelled then
      return done(failure or M.failure('The request was cancelled.', 'cancelled'))
    end
    client = found
    local link = assert(M.link_of(client.id))
    documents.catch_up(link, client)
    local is_sent
    is_sent, id = client:request(method, params, function(err, result)
      link.pending[id or 0] = nil
      done(err, result)
    end)
    if not is_sent then
      return done(M.failure('The Pilcrow daemon has just ended; send the request again.', 'io'))
    end
    link.pending[id] = done
  end)
  return function()
    cancelled = true
    if client and id and not is_done then
      client:cancel_request(id)
      -- Neovim keeps the daemon's word on a cancelled request to itself.
      done(M.failure('The request was cancelled.', 'cancelled'))
    end
  end
end

---Stops a daemon, or all, without starting them again; the callback is called when they are gone.
---@param root? string
---@param callback? fun()
function M.stop(root, callback)
  local ending = {}
  for at, link in pairs(links) do
    if not root or at == normal(root) then
      link.leaving = true
      ending[#ending + 1] = link
      local client = vim.lsp.get_client_by_id(link.client_id)
      if client then
        client:stop()
      end
    end
  end
  local function gone()
    for _, link in ipairs(ending) do
      if links[link.root] == link then
        return vim.defer_fn(gone, 10)
      end
    end
    if callback then
      callback()
    end
  end
  gone()
end

---Stops a workspace's daemon and starts it again.
---@param root? string
---@param callback fun(failure?: pilcrow.Error, client?: vim.lsp.Client)
function M.restart(root, callback)
  root = normal(root or M.root_of())
  falls[root] = nil
  M.stop(root, function()
    M.get(root, callback)
  end)
end

return M
