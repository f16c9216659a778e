-- The configuration of the Neovim in the picture. It never sets what the plugin shows, only where and in which colours.
vim.opt.runtimepath:prepend(vim.env.PILCROW_PLUGIN)
require('pilcrow').setup()

vim.o.background = 'dark'
vim.o.termguicolors = true
vim.o.number = true
vim.o.cursorline = true
vim.o.wrap = false

-- What is read stands at the right, and has line numbers of its own.
vim.api.nvim_create_autocmd('BufWinEnter', {
  pattern = 'pilcrow://*',
  command = 'wincmd L | setlocal nonumber nocursorline foldcolumn=1',
})
