-- What the tests are written with: workspaces, cases, waiting. It never sleeps: what is waited for is a condition.
local T = {}

local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
T.plugin = vim.fs.dirname(here)
T.binary = assert(vim.env.PILCROW_BIN, 'run tests/run.sh')
---How long anything may take on a machine that is busy with other things; a guard against hanging, in milliseconds.
T.guard = 120000

vim.opt.runtimepath:prepend(T.plugin)
vim.cmd.source(T.plugin .. '/plugin/pilcrow.lua')
vim.cmd('filetype on')
-- One line for each test: Neovim itself says nothing.
vim.o.showmode = false
vim.opt.shortmess:append('F')

local failures = 0
local notes = {}

---@param text string
local function say(text)
  io.stdout:write(text .. '\n')
  io.stdout:flush()
end

---What `vim.notify` was told during this case.
---@return string[]
function T.notes()
  return notes
end

vim.notify = function(message)
  notes[#notes + 1] = tostring(message)
end
vim.notify_once = vim.notify

---@param condition fun(): any
---@param what string
function T.wait(condition, what)
  local found
  local done = vim.wait(T.guard, function()
    found = condition()
    return found and true or false
  end, 5)
  if not done then
    error('waited in vain for ' .. what, 2)
  end
  return found
end

---@param one any
---@param other any
---@param what? string
function T.eq(one, other, what)
  if not vim.deep_equal(one, other) then
    error(('%s: got %s, expected %s'):format(what or 'not equal', vim.inspect(one), vim.inspect(other)), 2)
  end
end

function T.ok(value, what)
  if not value then
    error(what or 'not so', 2)
  end
  return value
end

---@param text string
---@param part string
function T.has(text, part)
  if type(text) ~= 'string' or not text:find(part, 1, true) then
    error(('%s does not hold %s'):format(vim.inspect(text), vim.inspect(part)), 2)
  end
end

---@param path string
---@param bytes string
function T.put(path, bytes)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
end

---@param path string
---@return string
function T.bytes(path)
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read('*a')
  file:close()
  return bytes
end

---A fresh workspace.
---@param files table<string, string>
---@return string
function T.workspace(files)
  local root = vim.uv.fs_realpath(vim.fs.dirname(vim.fn.tempname())) .. '/w' .. vim.uv.hrtime()
  vim.fn.mkdir(root .. '/.git', 'p')
  for name, bytes in pairs(files) do
    T.put(root .. '/' .. name, bytes)
  end
  return root
end

---Opens a file in this window, and waits until the daemon knows of it.
---@param path string
---@return integer bufnr
function T.open(path)
  vim.cmd('silent edit ' .. vim.fn.fnameescape(path))
  local bufnr = vim.api.nvim_get_current_buf()
  T.wait(function()
    return T.client(bufnr)
  end, 'the daemon to know of ' .. path)
  return bufnr
end

---The ready client of a buffer.
---@param bufnr? integer
---@return vim.lsp.Client?
function T.client(bufnr)
  return vim.lsp.get_clients({ bufnr = bufnr, name = 'pilcrow' })[1]
end

---@param bufnr integer
---@return string[]
function T.lines(bufnr)
  return vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)
end

---Changes a line as one who types does: an undo step of its own.
---@param bufnr integer
---@param row integer from 1
---@param text string|string[]
function T.types(bufnr, row, text)
  vim.api.nvim_buf_call(bufnr, function()
    vim.cmd('let &l:undolevels = &l:undolevels')
  end)
  vim.api.nvim_buf_set_lines(bufnr, row - 1, row, true, type(text) == 'table' and text or { text })
end

---A call that must succeed.
function T.good(result, failure)
  if not result then
    error('refused: ' .. vim.inspect(failure), 2)
  end
  return result
end

---@param result pilcrow.ReadResult
---@return string tag
function T.tag(result)
  return assert(result.details.hashline).tag
end

---@param path string
---@param ops string
---@return pilcrow.EditResult? result
---@return pilcrow.Error? failure
function T.edit(path, ops, opts)
  local pilcrow = require('pilcrow')
  local read = T.good(pilcrow.read_sync(path, opts))
  local header = read.details.hashline
  return pilcrow.edit_sync(('¶%s#%s\n%s'):format(header.path, header.tag, ops), opts)
end

---Every process id of a daemon that this Neovim has started.
---@return integer[]
function T.daemons()
  return vim.tbl_filter(function(pid)
    local name = io.open(('/proc/%d/comm'):format(pid))
    local comm = name and name:read('*l')
    if name then
      name:close()
    end
    return comm == 'pilcrow'
  end, vim.api.nvim_get_proc_children(vim.uv.os_getpid()))
end

local function clean()
  local gone = false
  require('pilcrow.daemon').stop(nil, function()
    gone = true
  end)
  T.wait(function()
    return gone and #T.daemons() == 0
  end, 'the daemons to go')
  vim.cmd('silent! %bwipeout!')
  notes = {}
end

---One test. Setup, workspace and working directory are fresh.
---@param name string
---@param files table<string, string>
---@param body fun(root: string)
---@param options? table for `setup`
function T.case(name, files, body, options)
  local root = T.workspace(files)
  vim.cmd.cd(root)
  local done, why = xpcall(function()
    require('pilcrow').setup(vim.tbl_extend('force', { cmd = { T.binary, 'serve', '--stdio' } }, options or {}))
    body(root)
    -- What the daemon itself complains of is never expected.
    local complaint = vim.iter(notes):find(function(note)
      return note:find('LSP[pilcrow]', 1, true)
    end)
    T.ok(not complaint, complaint)
  end, debug.traceback)
  local cleaned, left = pcall(clean)
  if done and not cleaned then
    done, why = false, left
  end
  failures = failures + (done and 0 or 1)
  say(('%s   %s'):format(done and 'ok  ' or 'FAIL', name))
  if not done then
    say('       ' .. tostring(why):gsub('\n', '\n       '))
    say('       notes: ' .. vim.inspect(notes))
  end
  local tally = vim.env.PILCROW_TEST_TALLY
  if tally then
    local file = assert(io.open(tally, 'a'))
    file:write((done and 'passed ' or 'failed ') .. name .. '\n')
    file:close()
  end
end

function T.finish()
  vim.cmd('silent! %bwipeout!')
  os.exit(failures == 0 and 0 or 1)
end

return T
