-- The calls of `require('pilcrow')` against the real daemon. No test here edits a buffer.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

T.case('a file that is opened starts the daemon of its workspace', { ['a.txt'] = 'a\n' }, function(root)
  T.eq(#T.daemons(), 0)
  local bufnr = T.open('a.txt')
  T.eq(#T.daemons(), 1)
  T.eq(T.client(bufnr).root_dir, root)
  T.eq(T.client(bufnr).offset_encoding, 'utf-8')
end)

T.case('without autostart the first call starts it, and open documents are known', { ['a.txt'] = 'a\n' }, function()
  vim.cmd.edit('a.txt')
  T.types(0, 1, 'unsaved')
  T.eq(#T.daemons(), 0)
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:unsaved')
  T.eq(#T.daemons(), 1)
end, { autostart = false })

T.case('a read sees an unsaved buffer', { ['a.txt'] = 'a\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 2, { 'ünï 😀', 'more' })
  local read = T.good(pilcrow.read_sync('a.txt'))
  T.has(pilcrow.text(read), '1:a\n2:ünï 😀\n3:more')
  T.eq({ read.details.origin, read.details.dirty }, { 'editor', true })
  T.eq(read.details.documentVersion, vim.lsp.util.buf_versions[bufnr])
  T.eq(T.bytes(root .. '/a.txt'), 'a\nb\n')
end)

T.case('a read does not block, and can be cancelled', { ['a.txt'] = 'a\n' }, function()
  local answered
  pilcrow.read('a.txt', function(failure, result)
    answered = failure or result
  end)
  T.eq(answered, nil)
  T.wait(function()
    return answered
  end, 'the answer')
  T.has(pilcrow.text(answered), '1:a')
  local word
  local cancel = pilcrow.read('a.txt', function(failure)
    word = failure or 'read'
  end)
  cancel()
  T.wait(function()
    return word
  end, 'the word of the cancelled read')
  T.eq(word.code, -32800)
end)

T.case('what the daemon refuses comes as its own error', { ['lib.lua'] = 'x\n' }, function()
  local result, failure = pilcrow.read_sync('lob.lua')
  T.eq(result, nil)
  T.eq({ failure.code, failure.data.kind }, { -32803, 'notFound' })
  T.has(failure.message, 'Did you mean lib.lua?')
  local _, outside = pilcrow.read_sync('/etc/passwd', { root = vim.fn.getcwd() })
  T.eq(outside.data.kind, 'outsideWorkspace')
end)

T.case('several reads are one call', { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' }, function()
  local many = T.good(pilcrow.read_many_sync({ 'a.txt', 'gone.txt', { path = 'b.txt', dialect = 'plain' } }))
  T.has(pilcrow.text(many.results[1].ok), '1:a')
  T.eq(many.results[2].error.data.kind, 'notFound')
  T.eq(pilcrow.text(many.results[3].ok), 'b')
end)

T.case('what a search shows can be edited, unsaved text too', { ['a.txt'] = 'one\ntwo\n', ['b.txt'] = 'two\n' }, function()
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'two unsaved')
  local found = T.good(pilcrow.search_sync('two', { glob = 'a.*' }))
  T.has(pilcrow.text(found), '1:two unsaved\n2:two\n\n')
  T.eq({ found.details.matches, found.details.complete }, { 2, true })
  local file = found.details.files[1]
  T.eq(file.lines, { { start = 1, ['end'] = 1 }, { start = 2, ['end'] = 2 } })
  T.good(pilcrow.edit_sync(('¶a.txt#%s\nreplace 1:\n+2\n'):format(file.hashline.tag)))
  T.eq(T.lines(bufnr), { '2', 'two' })
  local session = pilcrow.session('searcher')
  T.eq(T.good(session:search_sync('two', { count = true })).details.matches, 2)
end)

local PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

T.case('an image comes as a block, byte for byte', { ['dot.png'] = vim.base64.decode(PIXEL) }, function()
  local read = T.good(pilcrow.read_sync('dot.png'))
  T.eq(read.content[1].text, '[dot.png: image/png, 1x1, 70B]')
  T.eq(read.content[2], { type = 'image', data = PIXEL, mimeType = 'image/png' })
end)

T.case('selector, budget and dialect are passed on', { ['a.txt'] = ('row\n'):rep(50) }, function()
  local read = T.good(pilcrow.read_sync('a.txt', { selector = '5-6', dialect = 'plain' }))
  T.eq(read.details.shown, { { start = 4, ['end'] = 9 } })
  local cut = T.good(pilcrow.read_sync('a.txt', { budget = { lines = 10 } }))
  T.eq(cut.details.truncation.nextSelector, '11-')
end)

T.case('a session edits only what it was shown', { ['a.txt'] = 'a\nb\n' }, function(root)
  local one, other = pilcrow.session('one'), pilcrow.session()
  T.ok(one.name ~= other.name)
  local tag = T.tag(T.good(one:read_sync('a.txt')))
  local patch = ('¶a.txt#%s\nreplace 1:\n+A\n'):format(tag)
  local _, failure = other:edit_sync(patch)
  T.ok(failure, 'it was not shown to the other session')
  T.good(one:edit_sync(patch))
  T.eq(T.bytes(root .. '/a.txt'), 'A\nb\n')
  local closed
  one:close(function(why)
    closed = why or true
  end)
  T.eq(
    T.wait(function()
      return closed
    end, 'the session to close'),
    true
  )
end)

T.case('a file is made, and made anew only by its tag', {}, function(root)
  T.good(pilcrow.write_sync('src/new.txt', 'one\n'))
  T.eq(T.bytes(root .. '/src/new.txt'), 'one\n')
  local _, failure = pilcrow.write_sync('src/new.txt', 'two\n')
  T.eq(failure.data.kind, 'exists')
  local tag = T.tag(T.good(pilcrow.read_sync('src/new.txt')))
  T.good(pilcrow.write_sync('src/new.txt', 'two\n', { expect = tag }))
  T.eq(T.bytes(root .. '/src/new.txt'), 'two\n')
end)

T.case('a dry run tells the diff and writes nothing', { ['a.txt'] = 'a\n' }, function(root)
  local result = T.good(T.edit('a.txt', 'replace 1:\n+A\n', { dryRun = true }))
  T.has(result.details.files[1].diff, '+A')
  T.eq(T.bytes(root .. '/a.txt'), 'a\n')
end)

T.case('what a session was shown and has changed is a User event', { ['a.txt'] = 'a\nb\n' }, function(root)
  local heard = {}
  vim.api.nvim_create_autocmd('User', {
    pattern = 'PilcrowSnapshotChanged',
    callback = function(args)
      heard[#heard + 1] = args.data
    end,
  })
  local bufnr = T.open('a.txt')
  local tag = T.tag(T.good(pilcrow.read_sync('a.txt', { session = 'watcher' })))
  T.types(bufnr, 2, 'typed')
  T.wait(function()
    return heard[1]
  end, 'the event')
  T.eq({ heard[1].session, heard[1].path, heard[1].tag }, { 'watcher', 'a.txt', tag })
  T.eq({ heard[1].changed, heard[1].actor, heard[1].root }, { { { start = 2, ['end'] = 2 } }, 'editor', root })
end)

T.case('a buffer of a nested workspace is known to the outer one too', {
  ['sub/.git/HEAD'] = '',
  ['sub/a.txt'] = 'a\n',
  ['b.txt'] = 'b\n',
}, function()
  T.open('b.txt')
  local bufnr = T.open('sub/a.txt')
  T.types(bufnr, 1, 'unsaved')
  T.wait(function()
    return #vim.lsp.get_clients({ bufnr = bufnr, name = 'pilcrow' }) == 2
  end, 'both daemons')
  local inner = { root = vim.fn.getcwd() .. '/sub' }
  T.has(pilcrow.text(T.good(pilcrow.read_sync('sub/a.txt'))), '1:unsaved')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt', inner))), '1:unsaved')
  -- Each may edit it, and the other knows.
  T.good(T.edit('sub/a.txt', 'replace 1:\n+by the outer\n'))
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt', inner))), '1:by the outer')
  T.good(T.edit('a.txt', 'replace 1:\n+by the inner\n', inner))
  T.has(pilcrow.text(T.good(pilcrow.read_sync('sub/a.txt'))), '1:by the inner')
  T.eq(T.lines(bufnr), { 'by the inner' })
end)

T.case('a buffer that gets a name, and one that gets another, are known by it', { ['a.txt'] = 'a\n' }, function(root)
  T.open('a.txt')
  vim.cmd.enew()
  vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'new text' })
  vim.cmd.file('new.txt')
  T.wait(function()
    return T.client(0)
  end, 'the daemon to know of the new name')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('new.txt'))), '1:new text')
  vim.cmd('silent saveas other.txt')
  T.types(0, 1, 'newer')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('other.txt'))), '1:newer')
  T.eq(T.bytes(root .. '/other.txt'), 'new text\n')
end)

T.case('a buffer that is renamed is no longer known by its old name', { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' }, function()
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'unsaved')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:unsaved')
  vim.cmd('silent file new.txt')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('new.txt'))), '1:unsaved')
  T.types(bufnr, 1, 'typed')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('new.txt'))), '1:typed')
  T.good(T.edit('new.txt', 'replace 1:\n+edited\n'))
  T.eq(T.lines(bufnr), { 'edited' })
  vim.cmd('silent write')
  T.types(bufnr, 1, 'typed after')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('new.txt'))), '1:typed after')
end)

T.case('a buffer that is read again from its file is known as it is then', { ['a.txt'] = 'a\n' }, function(root)
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'unsaved')
  vim.cmd('silent edit!')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
  T.put(root .. '/a.txt', 'theirs, and longer\n')
  vim.cmd('silent checktime')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:theirs')
  T.types(bufnr, 1, 'typed')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:typed')
  vim.cmd('silent edit! ++enc=latin1 ++ff=dos')
  T.types(bufnr, 1, 'typed again')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:typed again')
end)

T.case('a buffer that is closed is its file again', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  T.types(bufnr, 1, 'unsaved')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:unsaved')
  vim.cmd('bwipeout!')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a')
end)

T.case('the daemon is told of the state of every version', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  local link = require('pilcrow.daemon').links()[1]
  local uri = vim.uri_from_bufnr(bufnr)
  local function state()
    T.good(pilcrow.read_sync('a.txt'))
    return link.told[uri]
  end
  T.eq(state().dirty, false)
  T.types(bufnr, 1, 'b')
  T.eq({ state().dirty, state().version }, { true, vim.lsp.util.buf_versions[bufnr] })
  vim.cmd('silent write')
  T.eq(state().dirty, false)
  T.types(bufnr, 1, 'c')
  vim.cmd('silent undo')
  T.eq(state().dirty, false)
  vim.bo[bufnr].fileencoding = 'latin1'
  T.eq({ state().dirty, state().encoding }, { true, 'latin1' })
end)

T.case('an option that does not exist is named', {}, function()
  local done, why = pcall(pilcrow.setup, { command = 'pilcrow' })
  T.eq(done, false)
  T.has(why, '"command"')
  T.ok(not pcall(pilcrow.setup, { cmd = 'pilcrow' }))
end)

T.case('settings reach the daemon', { ['secret.txt'] = 's\n' }, function()
  local _, failure = pilcrow.read_sync('secret.txt')
  T.eq(failure.data.kind, 'denied')
end, { settings = { access = { deny = { 'secret.*' } } } })

T.finish()
