-- Edits of open buffers by the real daemon. No test here takes the daemon's word for what a buffer holds.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

---Has something happen just before the editor is asked for the next edit.
---@param bufnr integer
---@param happens fun(params: table)
---@return table answers what the editor said
local function before_next_edit(bufnr, happens)
  local client = T.client(bufnr)
  local own = client.handlers['workspace/applyEdit']
  local answers = {}
  client.handlers['workspace/applyEdit'] = function(err, params, ctx)
    if #answers == 0 then
      happens(params)
    end
    local answer = own(err, params, ctx)
    answers[#answers + 1] = answer
    return answer
  end
  return answers
end

---Asks the editor for an edit as the daemon would.
local function ask(bufnr, version, edits, uri)
  local client = T.client(bufnr)
  local document = { uri = uri or vim.uri_from_bufnr(bufnr), version = version }
  local change = { textDocument = document, edits = edits }
  return client.handlers['workspace/applyEdit'](nil, { edit = { documentChanges = { change } } }, { client_id = client.id })
end

local function at(row, col, end_row, end_col, text)
  return {
    range = { start = { line = row, character = col }, ['end'] = { line = end_row, character = end_col } },
    newText = text,
  }
end

T.case('a dirty buffer is edited, not saved, and one undo takes exactly the edit back', { ['a.txt'] = 'a\nb\nc\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 3, { 'typed', 'more' })
  local result = T.good(T.edit('a.txt', 'replace 1:\n+A 1\n+A 2\ndelete 2\ninsert tail:\n+end\n'))
  local file = result.details.files[1]
  T.eq({ file.via, file.persisted }, { 'editor', false })
  T.eq(T.lines(bufnr), { 'A 1', 'A 2', 'typed', 'more', 'end' })
  T.eq(T.bytes(root .. '/a.txt'), 'a\nb\nc\n')
  T.types(bufnr, 1, 'typed after')
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'A 1', 'A 2', 'typed', 'more', 'end' })
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'a', 'b', 'typed', 'more' })
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'a', 'b', 'c' })
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a\n2:b\n3:c')
end)

T.case('a clean buffer follows a file that is moved, and goes with one that is deleted', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  local result = T.good(T.edit('a.txt', 'replace 2:\n+B\nmove file to d/c.txt\n'))
  T.eq(result.details.files[1].warnings, {})
  T.eq(vim.api.nvim_buf_is_loaded(bufnr), false)
  local now = vim.api.nvim_get_current_buf()
  T.eq(vim.api.nvim_buf_get_name(now), root .. '/d/c.txt')
  T.eq(T.lines(now), { 'a', 'B' })
  T.good(T.edit('d/c.txt', 'delete file\n'))
  T.eq(vim.api.nvim_buf_is_loaded(now), false)
end)

T.case('two edits are two undo steps', { ['a.txt'] = 'a\nb\n' }, function()
  local bufnr = T.open('a.txt')
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.good(T.edit('a.txt', 'replace 2:\n+B\n'))
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'A', 'b' })
  vim.cmd('silent redo')
  T.eq(T.lines(bufnr), { 'A', 'B' })
end)

T.case('the undo levels of the buffer stay as they were', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  local before = { vim.bo[bufnr].undolevels, vim.go.undolevels }
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.eq({ vim.bo[bufnr].undolevels, vim.go.undolevels }, before)
  vim.go.undolevels = 77
  T.eq(vim.api.nvim_get_option_value('undolevels', { buf = bufnr }), before[1] == before[2] and 77 or before[1])
  vim.go.undolevels = before[2]
end)

T.case('an edit in the midst of insert mode is one step of its own', { ['a.txt'] = 'a\nb\nc\n' }, function()
  local bufnr = T.open('a.txt')
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  local done
  local tag = T.tag(T.good(pilcrow.read_sync('a.txt')))
  _G.edit_now = function()
    local result, failure = pilcrow.edit_sync(('¶a.txt#%s\nreplace 1:\n+A\n'):format(tag))
    done = result or failure
    return ''
  end
  vim.keymap.set('i', '<F2>', '<Cmd>lua edit_now()<CR>')
  vim.api.nvim_feedkeys(vim.keycode('Aone<F2>two<Esc>'), 'xt', false)
  T.ok(done and done.details, vim.inspect(done))
  T.eq(T.lines(bufnr), { 'A', 'b', 'conetwo' })
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'A', 'b', 'cone' })
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'a', 'b', 'cone' })
end)

T.case('what the user types into the addressed line is kept, and the retry by the error is right', { ['a.txt'] = 'a\nb\nc\n' }, function()
  local bufnr = T.open('a.txt')
  T.types(bufnr, 3, 'c unsaved')
  local answers = before_next_edit(bufnr, function()
    T.types(bufnr, 2, 'b typed')
  end)
  local result, failure = T.edit('a.txt', 'replace 2:\n+B\n')
  T.eq(result, nil)
  T.eq(failure.data.kind, 'stale')
  T.eq(answers[1].applied, false)
  T.has(answers[1].failureReason, 'version')
  T.eq(T.lines(bufnr), { 'a', 'b typed', 'c unsaved' })
  local live = failure.data.files[1]
  T.eq(live.lines[2], { line = 2, text = 'b typed' })
  T.good(pilcrow.edit_sync(('¶a.txt#%s\nreplace 2:\n+B\n'):format(live.tag)))
  T.eq(T.lines(bufnr), { 'a', 'B', 'c unsaved' })
end)

T.case('what the user types above moves the edit along', { ['a.txt'] = 'a\nb\nc\n' }, function()
  local bufnr = T.open('a.txt')
  local answers = before_next_edit(bufnr, function()
    T.types(bufnr, 1, { 'top', 'a' })
  end)
  local result = T.good(T.edit('a.txt', 'replace 2:\n+B\n'))
  T.eq({ answers[1].applied, answers[2].applied }, { false, true })
  T.eq(T.lines(bufnr), { 'top', 'a', 'B', 'c' })
  T.eq(result.details.files[1].remapped, { { from = 2, to = 3 } })
end)

T.case('a buffer that is closed before the edit is the file again', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  before_next_edit(bufnr, function()
    vim.cmd('bwipeout! ' .. bufnr)
  end)
  local result = T.good(T.edit('a.txt', 'replace 2:\n+B\n'))
  T.eq(result.details.files[1].via, 'disk')
  T.eq(T.bytes(root .. '/a.txt'), 'a\nB\n')
end)

T.case('stale and future versions are refused, and the exact one is not', { ['a.txt'] = 'a\nb\n' }, function()
  local bufnr = T.open('a.txt')
  T.types(bufnr, 2, 'typed')
  T.good(pilcrow.read_sync('a.txt'))
  local now = vim.lsp.util.buf_versions[bufnr]
  for _, version in ipairs({ now - 1, now + 1, now + 1000, 0, vim.NIL }) do
    local answer = ask(bufnr, version, { at(0, 0, 0, 1, 'X') })
    T.eq(answer.applied, false, 'version ' .. tostring(version))
    T.has(answer.failureReason, 'the buffer is at ' .. now)
  end
  T.eq(T.lines(bufnr), { 'a', 'typed' })
  -- A version that is not yet told to the daemon is no exact one either.
  T.types(bufnr, 2, 'typed again')
  T.eq(ask(bufnr, now, { at(0, 0, 0, 1, 'X') }).applied, false)
  T.eq(ask(bufnr, vim.lsp.util.buf_versions[bufnr], { at(0, 0, 0, 1, 'X') }).applied, true)
  T.eq(T.lines(bufnr), { 'X', 'typed again' })
end)

T.case('an edit for the text before a reload is refused', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'typed')
  local answers = before_next_edit(bufnr, function()
    vim.cmd('silent edit!')
  end)
  local result, failure = T.edit('a.txt', 'replace 1:\n+edited\n')
  T.eq({ result, failure.data.kind, answers[1].applied }, { nil, 'stale', false })
  T.eq({ T.lines(bufnr), T.bytes(root .. '/a.txt') }, { { 'a', 'b' }, 'a\nb\n' })
  T.types(bufnr, 2, 'typed again')
  T.good(T.edit('a.txt', 'replace 1:\n+edited\n'))
  T.eq(T.lines(bufnr), { 'edited', 'typed again' })
end)

T.case('an edit that cannot be placed whole changes nothing', { ['a.txt'] = 'a\nb\n' }, function()
  local bufnr = T.open('a.txt')
  T.types(bufnr, 2, 'bb')
  T.good(pilcrow.read_sync('a.txt'))
  local version = vim.lsp.util.buf_versions[bufnr]
  local bad = {
    ['two edits overlap'] = { at(0, 0, 1, 1, 'x'), at(1, 0, 1, 2, 'y') },
    ['line 10 of 2'] = { at(0, 0, 0, 0, 'x'), at(9, 0, 9, 0, 'y') },
    ["take the last line's end away"] = { at(0, 0, 0, 0, 'x'), at(1, 0, 2, 0, 'y') },
  }
  for why, edits in pairs(bad) do
    local answer = ask(bufnr, version, edits)
    T.eq(answer.applied, false)
    T.has(answer.failureReason, why)
  end
  local elsewhere = ask(bufnr, 1, { at(0, 0, 0, 0, 'x') }, 'file:///nowhere.txt')
  T.has(elsewhere.failureReason, 'is not open')
  T.eq(vim.fn.bufnr('/nowhere.txt'), -1)
  T.eq(T.lines(bufnr), { 'a', 'bb' })
end)

T.case("a buffer that is 'nomodifiable' is refused with the reason", { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 2, 'typed')
  vim.bo[bufnr].modifiable = false
  local answers = before_next_edit(bufnr, function() end)
  local _, failure = T.edit('a.txt', 'replace 1:\n+A\n')
  T.eq(failure.data.kind, 'stale')
  T.has(answers[1].failureReason, "'nomodifiable'")
  T.eq(T.lines(bufnr), { 'a', 'typed' })
  T.eq(T.bytes(root .. '/a.txt'), 'a\nb\n')
  vim.bo[bufnr].modifiable = true
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.eq(T.lines(bufnr), { 'A', 'typed' })
end)

T.case('a clean buffer is edited and saved by a flush, a dirty one is left', { ['a.txt'] = 'a\nb\n', ['b.txt'] = 'one\n' }, function(root)
  local theirs = T.open('b.txt')
  T.types(theirs, 1, { 'one', 'typed' })
  local bufnr = T.open('a.txt')
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.good(T.edit('b.txt', 'replace 1:\n+ONE\n'))
  T.eq({ vim.bo[bufnr].modified, T.bytes(root .. '/a.txt') }, { true, 'a\nb\n' })
  T.eq(pilcrow.flush_sync(), { saved = { 'a.txt' }, left = {} })
  T.eq({ vim.bo[bufnr].modified, T.bytes(root .. '/a.txt') }, { false, 'A\nb\n' })
  T.eq({ vim.bo[theirs].modified, T.bytes(root .. '/b.txt') }, { true, 'one\n' })
  T.eq(T.lines(theirs), { 'ONE', 'typed' })
  T.eq(pilcrow.flush_sync('a.txt'), { saved = {}, left = {} })
end)

T.case('a flush saves a buffer that is in no window', { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' }, function(root)
  vim.o.hidden = true
  T.open('a.txt')
  local shown = T.open('b.txt')
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.eq(pilcrow.flush_sync().saved, { 'a.txt' })
  T.eq(T.bytes(root .. '/a.txt'), 'A\n')
  T.eq(vim.api.nvim_get_current_buf(), shown)
end)

T.case('a write that fails is left with the reason', { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  local failing = vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = bufnr,
    callback = function()
      error('the disk is full of cats')
    end,
  })
  local flushed = T.good(pilcrow.flush_sync())
  T.eq(flushed.saved, {})
  T.has(flushed.left[1].reason, 'full of cats')
  vim.api.nvim_del_autocmd(failing)
  vim.bo[bufnr].readonly = true
  T.has(T.good(pilcrow.flush_sync()).left[1].reason, "'readonly'")
  vim.bo[bufnr].readonly = false
  T.eq(T.good(pilcrow.flush_sync()).saved, { 'a.txt' })
  T.eq(T.bytes(root .. '/a.txt'), 'A\n')
end)

T.case('a file that was changed on disk meanwhile is not written over', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.put(root .. '/a.txt', 'theirs, longer\n')
  local flushed = T.good(pilcrow.flush_sync())
  T.eq(flushed.saved, {})
  T.has(flushed.left[1].reason, 'changed on disk')
  T.eq(T.bytes(root .. '/a.txt'), 'theirs, longer\n')
  T.eq(T.lines(bufnr), { 'A', 'b' })
end)

T.case('formatters that run on a write have their say', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  vim.api.nvim_create_autocmd('BufWritePre', {
    buffer = bufnr,
    callback = function()
      vim.api.nvim_buf_set_lines(bufnr, -1, -1, true, { '-- formatted' })
    end,
  })
  T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.eq(T.good(pilcrow.flush_sync()).saved, { 'a.txt' })
  T.eq(T.bytes(root .. '/a.txt'), 'A\nb\n-- formatted\n')
end)

T.case('a file that was written past its clean buffer is read into it again', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  local client = T.client(bufnr)
  vim.lsp.buf_detach_client(bufnr, client.id)
  local result = T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
  T.eq(result.details.files[1].via, 'disk')
  T.eq(T.bytes(root .. '/a.txt'), 'A\nb\n')
  T.eq(T.lines(bufnr), { 'A', 'b' })
  T.eq(vim.bo[bufnr].modified, false)
end)

T.case('edits at the ends of a buffer land, with and without a last newline', { ['a.txt'] = 'a\nb\n', ['b.txt'] = 'a\nb' }, function(root)
  for _, name in ipairs({ 'a.txt', 'b.txt' }) do
    local bufnr = T.open(name)
    T.types(bufnr, 1, 'typed')
    T.good(T.edit(name, 'insert head:\n+top\ninsert tail:\n+end\n'))
    T.eq(T.lines(bufnr), { 'top', 'typed', 'b', 'end' })
    T.good(T.edit(name, 'replace 3..4:\n+B\n+C\n'))
    T.good(T.edit(name, 'delete 1\n'))
    T.eq(T.lines(bufnr), { 'typed', 'B', 'C' })
    vim.bo[bufnr].fixendofline = false
    vim.cmd('silent write')
  end
  T.eq(T.bytes(root .. '/a.txt'), 'typed\nB\nC\n')
  T.eq(T.bytes(root .. '/b.txt'), 'typed\nB\nC')
end)

T.case('the last line of a text without a last newline can be deleted, and no line is added', { ['a.txt'] = 'a\nb\nend' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'typed')
  T.good(T.edit('a.txt', 'delete 3\n'))
  T.eq({ T.lines(bufnr), vim.bo[bufnr].endofline }, { { 'typed', 'b' }, true })
  vim.cmd('silent write')
  T.eq(T.bytes(root .. '/a.txt'), 'typed\nb\n')
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'typed', 'b', 'end' })
end)

T.case('an empty file takes an edit, and has no line too many', { ['a.txt'] = '' }, function(root)
  local bufnr = T.open('a.txt')
  T.eq(T.good(pilcrow.read_sync('a.txt')).details.totalLines, 0)
  T.good(T.edit('a.txt', 'insert head:\n+first\ninsert tail:\n+last\n'))
  T.eq(T.lines(bufnr), { 'first', 'last' })
  T.good(pilcrow.flush_sync())
  T.eq(T.bytes(root .. '/a.txt'), 'first\nlast\n')
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { '' })
  T.eq(T.good(pilcrow.read_sync('a.txt')).details.totalLines, 0)
  T.types(bufnr, 1, 'typed')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:typed')
  T.types(bufnr, 1, { 'typed', 'more' })
  T.good(T.edit('a.txt', 'replace 2:\n+edited\n'))
  T.eq(T.lines(bufnr), { 'typed', 'edited' })
end)

T.case('a buffer that was emptied takes an edit', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  vim.cmd('silent %delete')
  T.eq(T.good(pilcrow.read_sync('a.txt')).details.totalLines, 0)
  T.good(T.edit('a.txt', 'insert head:\n+first\n'))
  T.eq(T.lines(bufnr), { 'first' })
  vim.cmd('silent write')
  T.eq(T.bytes(root .. '/a.txt'), 'first\n')
end)

T.case('one empty line is one line', { ['a.txt'] = '\n' }, function()
  local bufnr = T.open('a.txt')
  T.eq(T.good(pilcrow.read_sync('a.txt')).details.totalLines, 1)
  T.good(T.edit('a.txt', 'insert tail:\n+second\n'))
  T.eq(T.lines(bufnr), { '', 'second' })
end)

T.case('everything can be deleted', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 2, 'typed')
  T.good(T.edit('a.txt', 'delete 1..2\n'))
  T.eq(T.lines(bufnr), { '' })
  vim.cmd('silent write')
  T.eq(T.bytes(root .. '/a.txt'), '')
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr), { 'a', 'typed' })
end)

T.case('places are right after characters of many bytes, as UTF-8 and as UTF-16', { ['a.txt'] = '😀é old é\n' }, function()
  for _, encodings in ipairs({ { 'utf-8' }, { 'utf-16' } }) do
    vim.lsp.config('pilcrow', { capabilities = { general = { positionEncodings = encodings } } })
    local bufnr = T.open('a.txt')
    T.eq(T.client(bufnr).offset_encoding, encodings[1])
    T.types(bufnr, 1, '😀é old é typed')
    T.good(pilcrow.read_sync('a.txt'))
    local edits = { { op = 'replace_text', old = 'old', new = 'n😀w' } }
    T.good(pilcrow.edit_sync({ files = { { path = 'a.txt', edits = edits } } }))
    T.eq(T.lines(bufnr), { '😀é n😀w é typed' })
    vim.cmd('bwipeout!')
    local gone
    require('pilcrow.daemon').stop(nil, function()
      gone = true
    end)
    T.wait(function()
      return gone
    end, 'the daemon to go')
  end
end)

T.case('marks, folds and the cursor stay where the text is', { ['a.txt'] = 'a\nb\nc\nd\n' }, function()
  local bufnr = T.open('a.txt')
  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  vim.api.nvim_buf_set_mark(bufnr, 'm', 3, 0, {})
  local namespace = vim.api.nvim_create_namespace('test')
  local extmark = vim.api.nvim_buf_set_extmark(bufnr, namespace, 3, 0, {})
  T.good(T.edit('a.txt', 'replace 1:\n+A\n+A2\n+A3\n'))
  T.eq(T.lines(bufnr), { 'A', 'A2', 'A3', 'b', 'c', 'd' })
  T.eq(vim.api.nvim_buf_get_mark(bufnr, 'm'), { 5, 0 })
  T.eq(vim.api.nvim_buf_get_extmark_by_id(bufnr, namespace, extmark, {}), { 5, 0 })
  T.eq(vim.api.nvim_win_get_cursor(0), { 6, 0 })
end)

T.case('an edit of several files is all or nothing', { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n', ['disk.txt'] = 'd\n' }, function(root)
  local one, other = T.open('a.txt'), T.open('b.txt')
  T.types(one, 1, 'a typed')
  local tags = {}
  for _, name in ipairs({ 'a.txt', 'b.txt', 'disk.txt' }) do
    tags[#tags + 1] = ('¶%s#%s\nreplace 1:\n+new %s\n'):format(name, T.tag(T.good(pilcrow.read_sync(name))), name)
  end
  local patch = table.concat(tags)
  vim.bo[one].modifiable = false
  local _, failure = pilcrow.edit_sync(patch)
  T.ok(failure)
  T.eq({ T.lines(one), T.lines(other), T.bytes(root .. '/disk.txt') }, { { 'a typed' }, { 'b' }, 'd\n' })
  vim.bo[one].modifiable = true
  T.good(pilcrow.edit_sync(patch))
  T.eq({ T.lines(one), T.lines(other), T.bytes(root .. '/disk.txt') }, { { 'new a.txt' }, { 'new b.txt' }, 'new disk.txt\n' })
end)

T.case('a buffer with a NUL and a lone CR is edited beside them', { ['a.txt'] = 'a\nb\nc\rd\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'a\0z')
  T.good(pilcrow.read_sync('a.txt', { dialect = 'plain' }))
  T.eq(ask(bufnr, vim.lsp.util.buf_versions[bufnr], { at(1, 0, 1, 1, 'B\rB') }).applied, true)
  vim.cmd('silent write')
  T.eq(T.bytes(root .. '/a.txt'), 'a\0z\nB\rB\nc\rd\n')
end)

T.finish()
