// writ completion: a script that a shell loads.
import { EXIT } from '../cli-error.ts'
import { defineCommand } from '../command.ts'
import { renderCompletion, SHELLS, type Shell } from '../completion-script.ts'

export const command = defineCommand({
  name: 'completion',
  summary: 'Print a completion script for a shell',
  args: [{ name: 'shell', description: 'bash, zsh or fish.', values: SHELLS }],
  flags: {},
  examples: [
    { line: 'source <(writ completion bash)', does: 'In ~/.bashrc' },
    { line: 'source <(writ completion zsh)', does: 'In ~/.zshrc, after compinit' },
    { line: 'writ completion fish | source', does: 'In ~/.config/fish/config.fish' },
  ],
  async run({ args, terminal }) {
    // Loaded here: the table of commands loads this file.
    const { loadCommands } = await import('./registry.ts')
    terminal.out(renderCompletion(args.shell as Shell, await loadCommands()))
    return EXIT.ok
  },
})
