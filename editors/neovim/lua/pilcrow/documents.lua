-- The buffers that daemons know of, and what each daemon was last told of them. A buffer is never changed here, and never loaded.
local M = {}

---What a daemon was told of a document.
---@class pilcrow.Told
---@field version integer
---@field dirty? boolean
---@field encoding? string

---Vim's names that mean another encoding elsewhere.
local labels = {
  [''] = 'utf-8',
  ['utf-16'] = 'utf-16be',
  ['ucs-2'] = 'utf-16be',
  ['ucs-2be'] = 'utf-16be',
  ['ucs-2le'] = 'utf-16le',
}

---@param bufnr integer
---@return string
function M.encoding(bufnr)
  local name = vim.bo[bufnr].fileencoding
  return labels[name] or name
end

---The path of a buffer that has a file, or will have one.
---@param bufnr integer
---@return string?
function M.path(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) or vim.bo[bufnr].buftype ~= '' then
    return nil
  end
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == '' or name:match('^%a[%w+.-]+://') then
    return nil
  end
  return name
end

---@param path string
---@param root string
---@return boolean
function M.is_below(path, root)
  if vim.fs.relpath(root, path) then
    return true
  end
  -- The way in may be a link.
  local folder = vim.uv.fs_realpath(vim.fs.dirname(path))
  local real = vim.uv.fs_realpath(root)
  return folder ~= nil and real ~= nil and vim.fs.relpath(real, folder) ~= nil
end

---The attached buffer of a URI.
---@param client vim.lsp.Client
---@param uri string
---@return integer?
function M.buffer(client, uri)
  for bufnr in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.uri_from_bufnr(bufnr) == uri then
      return bufnr
    end
  end
end

---@param uri string
---@param bufnr integer
---@param version integer
local function state_of(uri, bufnr, version)
  return { uri = uri, version = version, dirty = vim.bo[bufnr].modified, encoding = M.encoding(bufnr) }
end

---Whether a buffer would be saved as a file without a byte. Neovim tells of such a text as of one empty line.
---@param bufnr integer
---@return boolean
function M.is_blank(bufnr)
  if vim.api.nvim_buf_line_count(bufnr) ~= 1 or vim.api.nvim_buf_get_lines(bufnr, 0, 1, true)[1] ~= '' then
    return false
  end
  return vim.api.nvim_buf_call(bufnr, vim.fn.wordcount).bytes == 0
end

local line_ends = { unix = '\n', dos = '\r\n', mac = '\r' }

---The text that a buffer would be saved as.
---@param bufnr integer
---@return string
local function text_of(bufnr)
  if M.is_blank(bufnr) then
    return ''
  end
  local line_end = line_ends[vim.bo[bufnr].fileformat]
  local text = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, true), line_end)
  return vim.bo[bufnr].endofline and text .. line_end or text
end

---How many line ends the text of a buffer has.
---@param bufnr integer
---@return integer
local function line_ends_in(bufnr)
  local rows = vim.api.nvim_buf_line_count(bufnr)
  return (vim.bo[bufnr].endofline and not M.is_blank(bufnr)) and rows or rows - 1
end

---How many line ends the daemon's text has after changes; nil where it has no such places.
---@param before integer
---@param changes lsp.TextDocumentContentChangeEvent[]
---@return integer?
local function line_ends_after(before, changes)
  for _, change in ipairs(changes) do
    -- The place after the last line end is the last one that there is.
    if not change.range or change.range['end'].line > before then
      return nil
    end
    local _, added = change.text:gsub('\n', '')
    before = before + added - (change.range['end'].line - change.range.start.line)
  end
  return before
end

---A notification as the daemon takes it. Neovim's account of changes goes wrong at the end of a buffer: it gives the last
---line an end where it has none, even that of an empty file, and some deletions leave a line too many. The line ends
---tell; where they do not come out, the text is told whole. So is one with CR line ends, which are no lines to the daemon.
---@param link pilcrow.Link
---@param method string
---@param params table
---@return table params
function M.as_sent(link, method, params)
  local opens = method == 'textDocument/didOpen'
  if not opens and method ~= 'textDocument/didChange' then
    return params
  end
  local document = params.textDocument
  local client = vim.lsp.get_client_by_id(link.client_id)
  local bufnr = client and M.buffer(client, document.uri)
  if not bufnr then
    return params
  end
  local before, now = link.line_ends[document.uri], line_ends_in(bufnr)
  link.line_ends[document.uri] = now
  if opens then
    return { textDocument = vim.tbl_extend('force', document, { text = text_of(bufnr) }) }
  end
  if before and vim.bo[bufnr].fileformat ~= 'mac' and line_ends_after(before, params.contentChanges) == now then
    return params
  end
  return { textDocument = document, contentChanges = { { text = text_of(bufnr) } } }
end

---Called after each notification: what tells of a text is followed by the state of that version.
---@param link pilcrow.Link
---@param method string
---@param params table
---@param send fun(method: string, params: table)
function M.was_sent(link, method, params, send)
  local document = params and params.textDocument
  if method == 'textDocument/didClose' then
    link.told[document.uri] = nil
    link.line_ends[document.uri] = nil
    return
  end
  if method ~= 'textDocument/didOpen' and method ~= 'textDocument/didChange' and method ~= 'textDocument/didSave' then
    return
  end
  local client = vim.lsp.get_client_by_id(link.client_id)
  local bufnr = client and M.buffer(client, document.uri)
  if not bufnr then
    return
  end
  local version = document.version or (link.told[document.uri] or {}).version
  if version then
    local state = state_of(document.uri, bufnr, version)
    link.told[document.uri] = state
    send('agent/documentState', state)
  end
end

---The change tick of the last change of each buffer that is watched.
---@type table<integer, integer|false>
local ticks = {}

---The buffers that were read from their files again: Neovim tells their new text under the old version.
---@type table<integer, boolean>
local reloaded = {}

---Tells the daemons of changes that Neovim does not: it stops listening to a buffer that is changed while no client is there,
---and does not begin again.
---@param bufnr integer
local function tell_missed(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  local was_reloaded = reloaded[bufnr]
  reloaded[bufnr] = nil
  local tick = was_reloaded and vim.api.nvim_buf_get_changedtick(bufnr) or ticks[bufnr]
  if not tick or (vim.lsp.util.buf_versions[bufnr] == tick and not was_reloaded) then
    return
  end
  ticks[bufnr] = tick
  vim.lsp.util.buf_versions[bufnr] = tick
  local uri = vim.uri_from_bufnr(bufnr)
  for _, link in ipairs(require('pilcrow.daemon').links()) do
    local client = link.told[uri] and vim.lsp.get_client_by_id(link.client_id)
    if client then
      client:notify('textDocument/didChange', {
        textDocument = { uri = uri, version = tick },
        contentChanges = { { text = text_of(bufnr) } },
      })
    end
  end
end

---Listens to a buffer for as long as it is loaded.
---@param bufnr integer
function M.watch(bufnr)
  if ticks[bufnr] ~= nil then
    return
  end
  ticks[bufnr] = false
  local is_looking = false
  local function changed()
    if not is_looking then
      is_looking = true
      vim.schedule(function()
        is_looking = false
        tell_missed(bufnr)
      end)
    end
  end
  vim.api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, tick)
      -- A preview of a command has none.
      if tick then
        ticks[bufnr] = tick
        changed()
      end
    end,
    on_reload = function()
      reloaded[bufnr] = true
      changed()
    end,
    on_detach = function()
      ticks[bufnr] = nil
      reloaded[bufnr] = nil
    end,
  })
end

---Sends what is not sent yet: changes that Neovim holds back, and states that have changed since.
---@param link pilcrow.Link
---@param client vim.lsp.Client
function M.catch_up(link, client)
  for bufnr in pairs(client.attached_buffers) do
    tell_missed(bufnr)
  end
  for bufnr in pairs(client.attached_buffers) do
    local uri = vim.api.nvim_buf_is_loaded(bufnr) and vim.uri_from_bufnr(bufnr)
    local told = uri and link.told[uri]
    local version = vim.lsp.util.buf_versions[bufnr]
    if told and version and told.version ~= version then
      -- Neovim lets all changes go before any other notification.
      client:notify('agent/documentState', state_of(uri, bufnr, version))
    end
  end
  for bufnr in pairs(client.attached_buffers) do
    M.tell_state(link, client, bufnr)
  end
end

---Tells whether a buffer is modified, if that is not what was told last.
---@param link pilcrow.Link
---@param client vim.lsp.Client
---@param bufnr integer
function M.tell_state(link, client, bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  local uri = vim.uri_from_bufnr(bufnr)
  local told = link.told[uri]
  if not told then
    return
  end
  local state = state_of(uri, bufnr, told.version)
  if state.dirty ~= told.dirty or state.encoding ~= told.encoding then
    link.told[uri] = state
    client.rpc.notify('agent/documentState', state)
  end
end

return M
