-- The calls for one's own code: `require('pilcrow')`. They never block, but for those whose names end in `_sync`.
local config = require('pilcrow.config')
local daemon = require('pilcrow.daemon')
local documents = require('pilcrow.documents')

local M = {}

---How long a `_sync` call waits, in milliseconds.
local PATIENCE = 30000

---@param bufnr integer
local function autostart(bufnr)
  local path = documents.path(bufnr)
  if not path or not config.options.autostart then
    return
  end
  local root = vim.fs.root(path, config.options.root_markers)
  if not root then
    local own = daemon.root_of()
    local is_too_wide = own == '/' or own == vim.uv.os_homedir()
    if is_too_wide or not documents.is_below(path, own) then
      return
    end
    root = own
  end
  daemon.get(root, function(failure)
    if failure then
      vim.notify_once('pilcrow: ' .. failure.message, vim.log.levels.WARN)
    end
  end)
end

---Sets the plugin up. Whatever calls it first without this gets the defaults.
---@param options? pilcrow.Config|table
function M.setup(options)
  config.set(options)
  vim.lsp.config('pilcrow', daemon.lsp_config())
  local group = vim.api.nvim_create_augroup('pilcrow', { clear = true })
  local function on(events, callback, desc)
    vim.api.nvim_create_autocmd(events, { group = group, desc = 'pilcrow: ' .. desc, callback = callback })
  end
  on({ 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost' }, function(args)
    daemon.attach(args.buf)
    autostart(args.buf)
  end, 'tells of a document')
  on('BufFilePre', function(args)
    -- Neovim goes on under the new name and leaves the old one open.
    daemon.detach(args.buf)
  end, 'takes a name back')
  on('BufModifiedSet', function(args)
    for _, link in ipairs(daemon.links()) do
      local client = link.client_id and vim.lsp.get_client_by_id(link.client_id)
      if client and client.attached_buffers[args.buf] then
        documents.tell_state(link, client, args.buf)
      end
    end
  end, 'tells whether a document has unsaved changes')
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    daemon.attach(bufnr)
    autostart(bufnr)
  end
end

---@param opts table|function|nil
---@param callback function?
---@return table opts
---@return function callback
local function sort_out(opts, callback)
  if type(opts) == 'function' then
    opts, callback = nil, opts
  end
  return opts or {}, callback or function() end
end

---@param opts pilcrow.CallOpts
---@param path? string what tells the workspace
---@param method string
---@param params table
---@param callback function
---@return pilcrow.Cancel
local function call(opts, path, method, params, callback)
  params.session = params.session or opts.session
  if opts.resolving then
    params._meta = { ['pilcrow/resolving'] = opts.resolving }
  end
  local timer
  local cancel = daemon.request(opts.root or daemon.root_of(path), method, params, function(failure, result)
    if timer then
      timer:stop()
      timer:close()
    end
    callback(failure, result)
  end)
  if opts.timeout then
    timer = vim.defer_fn(function()
      timer = nil
      cancel()
    end, opts.timeout)
  end
  return cancel
end

---The text of an answer's blocks; what is no text is named.
---@param result { content: pilcrow.Block[] }
---@return string
function M.text(result)
  local parts = {}
  for _, block in ipairs(result.content) do
    parts[#parts + 1] = block.text or ('[%s]'):format(block.mimeType or vim.tbl_get(block, 'resource', 'mimeType') or block.type)
  end
  return table.concat(parts, '\n')
end

---Reads a path as a model is to see it.
---@param path string may end in a selector: `src/main.rs:10-20`
---@param opts? pilcrow.ReadOpts
---@param callback fun(failure?: pilcrow.Error, result?: pilcrow.ReadResult)
---@return pilcrow.Cancel
---@overload fun(path: string, callback: fun(failure?: pilcrow.Error, result?: pilcrow.ReadResult)): pilcrow.Cancel
function M.read(path, opts, callback)
  opts, callback = sort_out(opts, callback)
  return call(opts, path, 'agent/read', {
    path = path,
    selector = opts.selector,
    dialect = opts.dialect,
    budget = opts.budget,
    encoding = opts.encoding,
    want = opts.want,
  }, callback)
end

---Reads up to 64 targets; one that fails spoils nothing.
---@param targets (string|table)[] paths, or the parameters of a read
---@param opts? pilcrow.ReadOpts
---@param callback fun(failure?: pilcrow.Error, result?: { results: { ok?: pilcrow.ReadResult, error?: pilcrow.Error }[] })
---@return pilcrow.Cancel
function M.read_many(targets, opts, callback)
  opts, callback = sort_out(opts, callback)
  targets = vim.tbl_map(function(target)
    return type(target) == 'string' and { path = target } or target
  end, targets)
  return call(opts, nil, 'agent/readMany', { targets = targets, budget = opts.budget }, callback)
end

---Searches files for a regex; what is shown counts as read.
---@param pattern string
---@param opts? pilcrow.SearchOpts
---@param callback fun(failure?: pilcrow.Error, result?: pilcrow.SearchResult)
---@return pilcrow.Cancel
---@overload fun(pattern: string, callback: fun(failure?: pilcrow.Error, result?: pilcrow.SearchResult)): pilcrow.Cancel
function M.search(pattern, opts, callback)
  opts, callback = sort_out(opts, callback)
  return call(opts, opts.path, 'agent/search', {
    pattern = pattern,
    path = opts.path,
    glob = opts.glob,
    literal = opts.literal,
    ignoreCase = opts.ignoreCase,
    word = opts.word,
    multiline = opts.multiline,
    context = opts.context,
    count = opts.count,
    after = opts.after,
    dialect = opts.dialect,
    budget = opts.budget,
  }, callback)
end

---A file that went past its buffer is read into it again, as `autoread` would, where the user has nothing unsaved in it.
---@param result pilcrow.EditResult
local function reload_from_disk(result)
  for _, file in ipairs(result.details.files) do
    for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
      local path = documents.path(bufnr)
      if path and not vim.bo[bufnr].modified and vim.uv.fs_realpath(path) == file.resolvedPath then
        if file.via == 'disk' and not result.details.dryRun then
          vim.cmd.checktime(bufnr)
        end
      end
    end
  end
end

---@param callback function
local function then_reload(callback)
  return function(failure, result)
    if result then
      reload_from_disk(result)
    end
    callback(failure, result)
  end
end

---The path in a patch's first header.
---@param patch string|table
---@return string?
local function path_in(patch)
  if type(patch) == 'string' then
    return patch:match('¶([^\n]+)#%x+')
  end
  return patch.patch and path_in(patch.patch) or vim.tbl_get(patch, 'files', 1, 'path')
end

---Edits files.
---@param patch string|{ patch?: string, files?: table[] } a patch in hashline form, or its structured twin
---@param opts? pilcrow.EditOpts
---@param callback fun(failure?: pilcrow.Error, result?: pilcrow.EditResult)
---@return pilcrow.Cancel
---@overload fun(patch: string|table, callback: fun(failure?: pilcrow.Error, result?: pilcrow.EditResult)): pilcrow.Cancel
function M.edit(patch, opts, callback)
  opts, callback = sort_out(opts, callback)
  local params = type(patch) == 'string' and { patch = patch } or { patch = patch.patch, files = patch.files }
  params.dryRun = opts.dryRun
  return call(opts, path_in(patch), 'agent/edit', params, then_reload(callback))
end

---Makes a file, or puts a text in the place of the version `opts.expect`.
---@param path string
---@param text string
---@param opts? pilcrow.WriteOpts
---@param callback fun(failure?: pilcrow.Error, result?: pilcrow.EditResult)
---@return pilcrow.Cancel
---@overload fun(path: string, text: string, callback: fun(failure?: pilcrow.Error, result?: pilcrow.EditResult)): pilcrow.Cancel
function M.write(path, text, opts, callback)
  opts, callback = sort_out(opts, callback)
  local params = { path = path, text = text, expect = opts.expect, dryRun = opts.dryRun }
  return call(opts, path, 'agent/write', params, then_reload(callback))
end

---Puts a text or a file where a model can read it: a command's output, a subagent's answer.
---@param what pilcrow.PutArtifact
---@param opts? pilcrow.CallOpts
---@param callback fun(failure?: pilcrow.Error, result?: pilcrow.PutResult)
---@return pilcrow.Cancel
---@overload fun(what: pilcrow.PutArtifact, callback: fun(failure?: pilcrow.Error, result?: pilcrow.PutResult)): pilcrow.Cancel
function M.put_artifact(what, opts, callback)
  opts, callback = sort_out(opts, callback)
  return call(opts, what.path, 'agent/putArtifact', vim.tbl_extend('force', {}, what), callback)
end

---Has Neovim save what edits left unsaved in buffers without unsaved changes of the user's.
---@param paths? string|string[] all, if none are named
---@param opts? pilcrow.CallOpts
---@param callback fun(failure?: pilcrow.Error, result?: pilcrow.FlushResult)
---@return pilcrow.Cancel
function M.flush(paths, opts, callback)
  opts, callback = sort_out(opts, callback)
  paths = type(paths) == 'string' and { paths } or paths
  local params = paths and { paths = paths } or vim.empty_dict()
  return call({ root = opts.root, timeout = opts.timeout }, paths and paths[1], 'agent/flush', params, callback)
end

---What the daemon tells of itself.
---@param opts? pilcrow.CallOpts
---@param callback fun(failure?: pilcrow.Error, result?: table)
---@return pilcrow.Cancel
function M.status(opts, callback)
  opts, callback = sort_out(opts, callback)
  return call({ root = opts.root, timeout = opts.timeout }, nil, 'agent/status', vim.empty_dict(), callback)
end

---The daemon's tools, as for a model's tool list.
---@param opts? pilcrow.CallOpts|{ dialect?: string }
---@param callback fun(failure?: pilcrow.Error, result?: { tools: { name: string, description: string, inputSchema: table }[] })
---@return pilcrow.Cancel
function M.tools(opts, callback)
  opts, callback = sort_out(opts, callback)
  local params = opts.dialect and { dialect = opts.dialect } or vim.empty_dict()
  return call({ root = opts.root, timeout = opts.timeout }, nil, 'agent/tools', params, function(failure, result)
    if failure and failure.code == vim.lsp.protocol.ErrorCodes.MethodNotFound then
      failure = daemon.failure('This Pilcrow daemon is too old to tell its tools (agent/tools); update it.')
    end
    callback(failure, result)
  end)
end

---Forgets what was shown to a session.
---@param name? string
---@param opts? pilcrow.CallOpts
---@param callback fun(failure?: pilcrow.Error, result?: any)
---@return pilcrow.Cancel
function M.close_session(name, opts, callback)
  opts, callback = sort_out(opts, callback)
  return call(opts, nil, 'agent/closeSession', { session = name or opts.session or 'default' }, callback)
end

---The `_sync` form of a call: the result, or nil and the error.
---@param name string
---@param takes integer how many arguments come before the options
local function sync(name, takes)
  return function(...)
    local args = { ... }
    local opts = args[takes + 1] or {}
    local is_done, failure, result = false, nil, nil
    args[takes + 1] = vim.tbl_extend('force', opts, { timeout = false })
    args[takes + 1].timeout = nil
    args[takes + 2] = function(...)
      is_done = true
      failure, result = ...
    end
    local cancel = M[name](unpack(args, 1, takes + 2))
    local patience = opts.timeout or PATIENCE
    local was_answered = vim.wait(patience, function()
      return is_done
    end, 5)
    if not was_answered then
      cancel()
      return nil, daemon.failure(('The Pilcrow daemon did not answer within %d ms.'):format(patience), 'timeout')
    end
    return result, failure
  end
end

---@type fun(path: string, opts?: pilcrow.ReadOpts): pilcrow.ReadResult?, pilcrow.Error?
M.read_sync = sync('read', 1)
---@type fun(targets: (string|table)[], opts?: pilcrow.ReadOpts): table?, pilcrow.Error?
M.read_many_sync = sync('read_many', 1)
---@type fun(pattern: string, opts?: pilcrow.SearchOpts): pilcrow.SearchResult?, pilcrow.Error?
M.search_sync = sync('search', 1)
---@type fun(patch: string|table, opts?: pilcrow.EditOpts): pilcrow.EditResult?, pilcrow.Error?
M.edit_sync = sync('edit', 1)
---@type fun(path: string, text: string, opts?: pilcrow.WriteOpts): pilcrow.EditResult?, pilcrow.Error?
M.write_sync = sync('write', 2)
---@type fun(what: pilcrow.PutArtifact, opts?: pilcrow.CallOpts): pilcrow.PutResult?, pilcrow.Error?
M.put_artifact_sync = sync('put_artifact', 1)
---@type fun(paths?: string|string[], opts?: pilcrow.CallOpts): pilcrow.FlushResult?, pilcrow.Error?
M.flush_sync = sync('flush', 1)
---@type fun(opts?: pilcrow.CallOpts): table?, pilcrow.Error?
M.status_sync = sync('status', 0)
---@type fun(opts?: pilcrow.CallOpts): table?, pilcrow.Error?
M.tools_sync = sync('tools', 0)

---A reader with a memory of its own: only lines that were shown to it can be edited by it.
---@class pilcrow.Session
---@field name string
---@field root string
local Session = {}
Session.__index = Session

for name, takes in pairs({ read = 1, read_many = 1, search = 1, edit = 1, write = 2, put_artifact = 1 }) do
  for _, form in ipairs({ name, name .. '_sync' }) do
    Session[form] = function(self, ...)
      local args = { ... }
      local at = takes + 1
      if type(args[at]) == 'function' then
        table.insert(args, at, {})
      end
      args[at] = vim.tbl_extend('keep', { session = self.name }, args[at] or {}, { root = self.root })
      return M[form](unpack(args, 1, takes + 2))
    end
  end
end

---Forgets what was shown to this session.
---@param callback? fun(failure?: pilcrow.Error)
function Session:close(callback)
  return M.close_session(self.name, { root = self.root }, callback)
end

local sessions = 0

---A session: one chat, one agent.
---@param name? string else one that nobody has
---@param opts? { root?: string }
---@return pilcrow.Session
function M.session(name, opts)
  sessions = sessions + 1
  name = name or ('nvim-%d-%d'):format(vim.uv.os_getpid(), sessions)
  local root = opts and opts.root or daemon.root_of()
  return setmetatable({ name = name, root = root }, Session)
end

return M
