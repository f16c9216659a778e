-- What lies beside a file that is edited: swap files, undo files, backups. It never reaches a reader, and never gets lost.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

local function with(options, body)
  local before = {}
  for name, value in pairs(options) do
    before[name] = vim.o[name]
    vim.o[name] = value
  end
  local done, why = pcall(body)
  for name, value in pairs(before) do
    vim.o[name] = value
  end
  if not done then
    error(why, 0)
  end
end

for _, backupcopy in ipairs({ 'yes', 'no' }) do
  T.case(
    ('swap files, undo files and backups do no harm (backupcopy=%s)'):format(backupcopy),
    { ['a.txt'] = 'a\nb\n' },
    function(root)
      with({
        swapfile = true,
        directory = '.',
        updatecount = 1,
        undofile = true,
        undodir = '.',
        backup = true,
        backupdir = '.',
        backupskip = '',
        backupcopy = backupcopy,
      }, function()
        local bufnr = T.open('a.txt')
        vim.cmd('silent preserve')
        T.ok(vim.fn.swapname(bufnr) ~= '' and vim.uv.fs_stat(vim.fn.swapname(bufnr)), 'there is no swap file')
        T.good(T.edit('a.txt', 'replace 1:\n+A\n'))
        T.eq(T.good(pilcrow.flush_sync()).saved, { 'a.txt' })
        T.eq({ T.bytes(root .. '/a.txt'), T.bytes(root .. '/a.txt~') }, { 'A\nb\n', 'a\nb\n' })
        T.good(T.edit('a.txt', 'replace 2:\n+B\n'))
        T.eq(T.good(pilcrow.flush_sync()).saved, { 'a.txt' })
        T.eq(T.bytes(root .. '/a.txt'), 'A\nB\n')
        T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:A\n2:B')
        T.ok(vim.uv.fs_stat(vim.fn.undofile(root .. '/a.txt')), 'there is no undo file')
        -- The undo file brings the agent's steps back, one by one.
        vim.cmd('bwipeout!')
        bufnr = T.open('a.txt')
        vim.cmd('silent undo')
        T.eq(T.lines(bufnr), { 'A', 'b' })
        vim.cmd('silent undo')
        T.eq(T.lines(bufnr), { 'a', 'b' })
        T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:a\n2:b')
      end)
    end
  )
end

T.case('another Neovim has the file open: its swap file asks nothing of the agent', { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n' }, function(root)
  local child = vim.fn.jobstart({ vim.v.progpath, '--clean', '--embed', '--headless' }, { rpc = true })
  vim.rpcrequest(child, 'nvim_exec2', ('set directory=. swapfile updatecount=1 | edit %s/a.txt | call setline(1, "theirs") | preserve'):format(root), {})
  T.ok(vim.uv.fs_stat(root .. '/.a.txt.swp'), 'there is no swap file')
  with({ swapfile = true, directory = '.' }, function()
    T.open('b.txt')
    T.eq(T.good(T.edit('a.txt', 'replace 1:\n+A\n')).details.files[1].via, 'disk')
    T.eq(T.bytes(root .. '/a.txt'), 'A\n')
    T.eq(vim.fn.bufnr('a.txt'), -1)
  end)
  vim.fn.jobstop(child)
end)

T.case('a link and the file behind it are one document', { ['real/a.txt'] = 'a\nb\n' }, function(root)
  vim.uv.fs_symlink(root .. '/real/a.txt', root .. '/link.txt')
  local bufnr = T.open('link.txt')
  T.types(bufnr, 2, 'typed')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('real/a.txt'))), '2:typed')
  T.good(T.edit('real/a.txt', 'replace 1:\n+A\n'))
  T.eq(T.lines(bufnr), { 'A', 'typed' })
  vim.cmd('silent write')
  T.eq(T.bytes(root .. '/real/a.txt'), 'A\ntyped\n')
  T.eq(vim.uv.fs_lstat(root .. '/link.txt').type, 'link')
end)

T.case('names with spaces, umlauts and percent signs are the same file to both', { ['a b/ü 100%20.txt'] = 'a\n' }, function()
  local bufnr = T.open('a b/ü 100%20.txt')
  T.types(bufnr, 1, 'typed')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a b/ü 100%20.txt'))), '1:typed')
  T.good(T.edit('a b/ü 100%20.txt', 'replace 1:\n+edited\n'))
  T.eq(T.lines(bufnr), { 'edited' })
end)

T.finish()
