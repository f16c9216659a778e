-- The lives of daemons: their fall, their return, several at once. No daemon outlives a test here.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

---@param signal? string
local function kill(signal)
  local pids = T.daemons()
  for _, pid in ipairs(pids) do
    vim.uv.kill(pid, signal or 'sigkill')
  end
  return pids
end

---Whether every thread of a process is held by a signal.
---@param pid integer
local function stopped(pid)
  for thread in vim.fs.dir(('/proc/%d/task'):format(pid)) do
    local stat = io.open(('/proc/%d/task/%s/stat'):format(pid, thread))
    local state = stat and stat:read('*a'):match('%) (%a)')
    if stat then
      stat:close()
    end
    if state ~= 'T' then
      return false
    end
  end
  return true
end

---Waits for the daemon that came in the place of another.
local function back(bufnr, old_id)
  return T.wait(function()
    local client = T.client(bufnr)
    return client and client.id ~= old_id and client
  end, 'the daemon to be back')
end

T.case('a daemon that is killed comes back and is told of the documents', { ['a.txt'] = 'a\nb\n', ['b.txt'] = 'b\n' }, function(root)
  vim.o.hidden = true
  local other = T.open('b.txt')
  T.types(other, 1, 'b unsaved')
  local bufnr = T.open('a.txt')
  T.types(bufnr, 2, 'unsaved')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '2:unsaved')
  local old = T.client(bufnr).id
  local pids = kill()
  back(bufnr, old)
  T.ok(not vim.deep_equal(T.daemons(), pids))
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '2:unsaved')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('b.txt'))), '1:b unsaved')
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.eq(T.lines(bufnr), { 'A', 'unsaved' })
  T.types(bufnr, 2, 'typed after')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:A\n2:typed after')
  T.eq(T.bytes(root .. '/a.txt'), 'a\nb\n')
end)

T.case('what is typed while there is no daemon is known to the next, and so is what comes after', { ['a.txt'] = 'a\nb\n' }, function()
  local bufnr = T.open('a.txt')
  local old = T.client(bufnr).id
  kill()
  T.wait(function()
    return #T.daemons() == 0 or T.client(bufnr) == nil or T.client(bufnr).id ~= old
  end, 'the fall')
  T.types(bufnr, 1, 'typed without')
  back(bufnr, old)
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:typed without')
  T.types(bufnr, 2, 'typed with')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '2:typed with')
  -- The same when it was asked to stop, and it stays down while there is typing.
  T.client(bufnr):stop()
  T.wait(function()
    return #T.daemons() == 0 and #require('pilcrow.daemon').links() == 0
  end, 'the daemon to go')
  T.types(bufnr, 1, 'typed alone')
  T.types(bufnr, 1, 'typed alone again')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:typed alone again\n2:typed with')
  T.types(bufnr, 2, 'typed at last')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '2:typed at last')
  T.good(T.edit('a.txt', 'replace 1:\n+edited\n'))
  T.eq(T.lines(bufnr), { 'edited', 'typed at last' })
end)

T.case('a request that a fallen daemon did not answer is told so, and works when sent again', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  local old = T.client(bufnr).id
  for _, pid in ipairs(kill('sigstop')) do
    -- Its threads stop one by one, when each has its turn.
    T.wait(function()
      return stopped(pid)
    end, 'the daemon to stop')
  end
  local word
  pilcrow.read('a.txt', function(failure, result)
    word = failure or result
  end)
  kill()
  T.wait(function()
    return word
  end, 'the word on the lost request')
  T.eq({ word.data.kind, word.data.retryable }, { 'io', true })
  T.has(word.message, 'send the request again')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
  back(bufnr, old)
end)

T.case('a daemon that keeps falling is left down and said to be, until it is restarted', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  for _ = 1, 2 do
    local old = T.client(bufnr).id
    kill()
    back(bufnr, old)
  end
  kill()
  T.wait(function()
    return vim.iter(T.notes()):any(function(note)
      return note:find('is left down', 1, true) ~= nil
    end)
  end, 'the word that it is left down')
  T.eq(T.daemons(), {})
  vim.cmd('Pilcrow restart')
  T.wait(function()
    return T.client(bufnr)
  end, 'the restart')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
end, { restarts = { count = 2, seconds = 600 } })

T.case('two workspaces have two daemons, each with its own documents', { ['one/.git/HEAD'] = '', ['two/.git/HEAD'] = '' }, function(root)
  for _, name in ipairs({ 'one', 'two' }) do
    T.put(('%s/%s/a.txt'):format(root, name), name .. '\n')
  end
  vim.fn.delete(root .. '/.git', 'rf')
  vim.o.hidden = true
  local one = T.open(root .. '/one/a.txt')
  local two = T.open(root .. '/two/a.txt')
  T.eq(#T.daemons(), 2)
  T.eq({ T.client(one).root_dir, T.client(two).root_dir }, { root .. '/one', root .. '/two' })
  T.types(one, 1, 'one unsaved')
  T.types(two, 1, 'two unsaved')
  for _, name in ipairs({ 'one', 'two' }) do
    local read = T.good(pilcrow.read_sync('a.txt', { root = root .. '/' .. name }))
    T.has(pilcrow.text(read), ('1:%s unsaved'):format(name))
  end
  local _, failure = pilcrow.read_sync(root .. '/two/a.txt', { root = root .. '/one' })
  T.eq(failure.data.kind, 'outsideWorkspace')
  T.good(T.edit('a.txt', 'replace 1:\n+edited\n', { root = root .. '/two' }))
  T.eq({ T.lines(one), T.lines(two) }, { { 'one unsaved' }, { 'edited' } })
end)

T.case('several calls at once start one daemon', { ['a.txt'] = 'a\n' }, function()
  local answers = 0
  for _ = 1, 20 do
    pilcrow.read('a.txt', function(_, result)
      answers = answers + (result and 1 or 0)
    end)
  end
  T.wait(function()
    return answers == 20
  end, 'all answers')
  T.eq(#T.daemons(), 1)
end)

T.case('a daemon that is asked to stop stays down until it is called', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  T.client(bufnr):stop()
  T.wait(function()
    return #T.daemons() == 0
  end, 'the daemon to go')
  T.eq(T.notes(), {})
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
end)

T.case('a binary that is not there is named, with the mend', { ['a.txt'] = 'a\n' }, function()
  vim.cmd.edit('a.txt')
  T.has(T.notes()[1], "'/nowhere/pilcrow' is not an executable file")
  local _, failure = pilcrow.read_sync('a.txt')
  T.has(failure.message, ':checkhealth pilcrow')
end, { cmd = { '/nowhere/pilcrow', 'serve', '--stdio' } })

T.case('a program that is no daemon is told of, not started again and again', { ['a.txt'] = 'a\n' }, function()
  local _, failure = pilcrow.read_sync('a.txt')
  T.has(failure.message, 'ended')
  T.wait(function()
    return vim.iter(T.notes()):any(function(note)
      return note:find('before it was ready', 1, true) ~= nil
    end)
  end, 'the warning')
end, { cmd = { 'false' } })

---A daemon of another version: it answers `initialize` and nothing else.
---@param version string
local function daemon_of(version)
  local answer = vim.json.encode { jsonrpc = '2.0', id = 1, result = { capabilities = {}, serverInfo = { name = 'pilcrow', version = version } } }
  local frame = ('Content-Length: %d\\r\\n\\r\\n%s'):format(#answer, answer:gsub('"', '\\"'))
  return { 'sh', '-c', ([[printf "%s"; exec cat > /dev/null]]):format(frame) }
end

for version, says in pairs { ['0.0.9'] = 'Update pilcrow (npm', ['7.0.0'] = 'Update this plugin.' } do
  T.case(('daemon %s is refused in one line that says what to update'):format(version), { ['a.txt'] = 'a\n' }, function()
    local _, failure = pilcrow.read_sync('a.txt')
    T.has(failure.message, ('pilcrow %s does not fit the plugin, which needs 0.1 or a later 0.x. %s'):format(version, says))
    T.wait(function()
      return vim.iter(T.notes()):any(function(note)
        return note:find(says, 1, true) ~= nil
      end)
    end, 'the warning')
  end, { cmd = daemon_of(version) })
end

T.case('nothing of the workspace says which daemon is started', {
  ['a.txt'] = 'a\n',
  ['pilcrow'] = '#!/bin/sh\ntouch hostile\n',
  ['.pilcrow.json'] = '{"cmd":["./pilcrow"]}',
}, function(root)
  vim.uv.fs_chmod(root .. '/pilcrow', 493)
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
  T.eq(vim.uv.fs_stat(root .. '/hostile'), nil)
end)

T.case('a daemon ends with its Neovim', { ['a.txt'] = 'a\n' }, function(root)
  local script = root .. '/child.lua'
  T.put(script, ([[
    vim.opt.runtimepath:prepend(%q)
    require('pilcrow').setup { cmd = { %q, 'serve', '--stdio' } }
    local read = assert(require('pilcrow').read_sync('a.txt'))
    local child = vim.api.nvim_get_proc_children(vim.uv.os_getpid())[1]
    io.stdout:write(require('pilcrow').text(read):match('1:(%%w+)') .. ' ' .. child)
  ]]):format(T.plugin, T.binary))
  local done = vim.system({ vim.v.progpath, '--clean', '--headless', '-n', '-l', script }, { text = true, cwd = root }):wait(T.guard)
  local text, pid = done.stdout:match('^(%w+) (%d+)$')
  T.eq(text, 'a', done.stdout .. done.stderr)
  T.wait(function()
    return not vim.uv.fs_stat('/proc/' .. pid)
  end, 'the daemon to end')
end)

T.finish()
