-- What the daemon may ask of the editor. An edit is never made in another version of a text than the one it is for, and a buffer is never written without being asked.
local splice = require('pilcrow.splice')

local M = {}

---@param ctx lsp.HandlerContext
---@return vim.lsp.Client client
---@return pilcrow.Link link
local function asked_by(ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  return client, assert(require('pilcrow.daemon').link_of(ctx.client_id))
end

---@param why string
local function refuse(why)
  return { applied = false, failureReason = why }
end

---Places the edits of one document.
---@param client vim.lsp.Client
---@param link pilcrow.Link
---@param change lsp.TextDocumentEdit
---@return { bufnr: integer, splices: pilcrow.Splice[] }? planned
---@return string? why
local function plan(client, link, change)
  if change.kind or not change.textDocument then
    return nil, 'only text is edited here, files are not made, renamed or deleted'
  end
  local uri, version = change.textDocument.uri, change.textDocument.version
  local bufnr = require('pilcrow.documents').buffer(client, uri)
  if not bufnr then
    return nil, uri .. ' is not open'
  end
  local told = link.told[uri]
  if not told or version ~= told.version then
    return nil, ('the edit is for version %s, the buffer is at %s'):format(tostring(version), told and told.version)
  end
  if not vim.bo[bufnr].modifiable then
    return nil, ("the buffer of %s is 'nomodifiable'"):format(uri)
  end
  local splices, why = splice.plan(bufnr, change.edits, client.offset_encoding)
  return splices and { bufnr = bufnr, splices = splices }, why
end

---@param params lsp.ApplyWorkspaceEditParams
---@param ctx lsp.HandlerContext
M['workspace/applyEdit'] = function(_, params, ctx)
  local client, link = asked_by(ctx)
  local documents = require('pilcrow.documents')
  -- What was typed is told first, so that the daemon knows why an edit is refused.
  documents.catch_up(link, client)
  local plans = {}
  for _, change in ipairs(params.edit.documentChanges or {}) do
    local planned, why = plan(client, link, change)
    if not planned then
      return refuse(why or 'it cannot be placed')
    end
    plans[#plans + 1] = planned
  end
  if params.edit.changes and next(params.edit.changes) then
    return refuse('edits without a version are not made')
  end
  for _, planned in ipairs(plans) do
    local is_done, why = pcall(splice.carry_out, planned.bufnr, planned.splices)
    documents.catch_up(link, client)
    if not is_done then
      return refuse(tostring(why))
    end
  end
  return { applied = true }
end

---Whether the file is another one than was read into the buffer; the user is not asked.
---@param bufnr integer
---@return string? how
local function changed_on_disk(bufnr)
  local how
  local watch = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = bufnr,
    callback = function()
      how = vim.v.fcs_reason
      vim.v.fcs_choice = ''
    end,
  })
  pcall(vim.cmd.checktime, bufnr)
  vim.api.nvim_del_autocmd(watch)
  -- A new mode or time harms nobody.
  return (how == 'changed' or how == 'conflict' or how == 'deleted') and how or nil
end

---@param message string
local function save_failed(message)
  return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.InternalError, message)
end

---@param params { uri: string }
---@param ctx lsp.HandlerContext
M['agent/saveDocument'] = function(_, params, ctx)
  local client = asked_by(ctx)
  local bufnr = require('pilcrow.documents').buffer(client, params.uri)
  if not bufnr then
    return save_failed('it is not open in Neovim')
  end
  if not vim.bo[bufnr].modified then
    return { saved = true }
  end
  if vim.bo[bufnr].readonly then
    return save_failed("its buffer is 'readonly'")
  end
  local how = changed_on_disk(bufnr)
  if how then
    return save_failed(('its file was changed on disk meanwhile (%s); the user has to decide'):format(how))
  end
  local is_saved, why = pcall(vim.api.nvim_buf_call, bufnr, function()
    vim.cmd('silent write')
  end)
  if not is_saved then
    return save_failed((tostring(why):gsub('^.*Vim%(write%):', '')))
  end
  return { saved = not vim.bo[bufnr].modified }
end

---Shows a file that was moved where it is now, and lets go of one that was deleted.
---@param params { uri: string, to: string? }
---@param ctx lsp.HandlerContext
M['agent/followFile'] = function(_, params, ctx)
  local client = asked_by(ctx)
  local bufnr = require('pilcrow.documents').buffer(client, params.uri)
  if not bufnr or vim.bo[bufnr].modified then
    return { followed = false }
  end
  if params.to and params.to ~= vim.NIL then
    local now = vim.fn.bufadd(vim.uri_to_fname(params.to))
    vim.bo[now].buflisted = vim.bo[bufnr].buflisted
    for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
      vim.api.nvim_win_call(window, function()
        local view = vim.fn.winsaveview()
        vim.api.nvim_win_set_buf(window, now)
        vim.fn.winrestview(view)
      end)
    end
  end
  return { followed = pcall(vim.api.nvim_buf_delete, bufnr, {}) }
end

---What somebody's function has of an address. The answer may take its time: Neovim calls this in a coroutine of its own.
---@param params { uri: string, session: string, resolving: string }
M['agent/resolve'] = function(_, params)
  local scheme = params.uri:match('^([^:]*):'):lower()
  local resolver = require('pilcrow.config').options.resources[scheme]
  if not resolver then
    return vim.NIL
  end
  local asked = assert(coroutine.running(), 'Neovim calls handlers in coroutines')
  local is_waiting, is_done, answer, why = false, false, nil, nil
  local function done(result, failure)
    if is_done then
      return
    end
    is_done, answer, why = true, result, failure
    if is_waiting then
      vim.schedule(function()
        assert(coroutine.resume(asked))
      end)
    end
  end
  local is_called, failure = pcall(resolver, params.uri, params.session, done, { resolving = params.resolving })
  if not is_called then
    done(nil, tostring(failure))
  end
  if not is_done then
    is_waiting = true
    coroutine.yield()
  end
  if why then
    return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.InternalError, tostring(why))
  end
  if type(answer) == 'string' then
    answer = { contents = { { uri = params.uri, text = answer } } }
  end
  return answer == nil and vim.NIL or answer
end

---@param params pilcrow.SnapshotChanged
---@param ctx lsp.HandlerContext
M['agent/didChangeSnapshot'] = function(_, params, ctx)
  local link = require('pilcrow.daemon').link_of(ctx.client_id)
  local data = vim.tbl_extend('force', params, { root = link and link.root })
  if data.newTag == vim.NIL then
    data.newTag = nil
  end
  vim.api.nvim_exec_autocmds('User', { pattern = 'PilcrowSnapshotChanged', modeline = false, data = data })
end

return M
