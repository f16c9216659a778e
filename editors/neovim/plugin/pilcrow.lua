-- What Neovim loads at its start: the `:Pilcrow` command. It never starts a daemon and never loads the rest of the plugin.
if vim.g.loaded_pilcrow then
  return
end
vim.g.loaded_pilcrow = true

vim.api.nvim_create_user_command('Pilcrow', function(args)
  require('pilcrow.commands').run(args)
end, {
  nargs = '+',
  range = true,
  desc = 'Read and edit files as a model sees them',
  complete = function(...)
    return require('pilcrow.commands').complete(...)
  end,
})
