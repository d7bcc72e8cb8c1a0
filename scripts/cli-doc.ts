// Writes docs/reference/cli.md from the table of commands.
import { writeFileSync } from 'node:fs'
import { renderCliDoc } from '../src/cli/cli-doc.ts'
import { loadCommands } from '../src/cli/command/registry.ts'

writeFileSync(new URL('../docs/reference/cli.md', import.meta.url), renderCliDoc(await loadCommands()))
