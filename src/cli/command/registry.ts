// The table of commands, in the order in which help lists them. Each is loaded when it is used.
import type { Command } from '../command.ts'

export interface CommandEntry {
  readonly summary: string
  load(): Promise<{ readonly command: Command }>
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = Object.freeze({
  up: { summary: 'Start a server', load: () => import('./up.ts') },
  apply: { summary: 'Create or change resources from manifests', load: () => import('./apply.ts') },
  diff: { summary: 'Show what apply would change', load: () => import('./diff.ts') },
  validate: { summary: 'Check manifests without a server', load: () => import('./validate.ts') },
  get: { summary: 'List tools', load: () => import('./get.ts') },
  describe: { summary: 'Show everything about one tool', load: () => import('./describe.ts') },
  delete: { summary: 'Delete a tool', load: () => import('./delete.ts') },
  call: { summary: 'Call a tool', load: () => import('./call.ts') },
  calls: { summary: 'List calls, or show one', load: () => import('./calls.ts') },
  cancel: { summary: 'Cancel a call', load: () => import('./cancel.ts') },
  explain: { summary: 'Say what every stage would answer to a call', load: () => import('./explain.ts') },
  conformance: { summary: 'Run the conformance suite', load: () => import('./conformance.ts') },
  doctor: { summary: 'Look for what is wrong with this installation', load: () => import('./doctor.ts') },
  version: { summary: 'Show the version', load: () => import('./version.ts') },
  completion: { summary: 'Print a completion script for a shell', load: () => import('./completion.ts') },
})

/** Every command with all it declares, for completion and the reference page. */
export async function loadCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(COMMANDS).map(async (entry) => (await entry.load()).command))
}
