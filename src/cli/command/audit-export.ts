// writ audit export: all evidence of a server as JSON lines.
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CliError, EXIT, messageOf } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { withProgress } from '../progress.ts'
import type { Terminal } from '../terminal.ts'

export const command = defineCommand({
  name: 'audit export',
  summary: 'Write all evidence as JSON lines',
  details: [
    'Chains with their links and records, then checkpoints. It can be verified anywhere with audit verify, without the server or its data folder. Payloads are in it as hashes only. Only the admin can ask.',
  ],
  args: [],
  flags: {
    out: {
      type: 'string',
      description: 'Write to this file; it appears when it is complete. Without it, to standard output.',
      placeholder: 'FILE',
      completes: 'file',
    },
    data: SERVER_FLAGS.data,
  },
  examples: [{ line: 'writ audit export --out evidence.jsonl', does: 'Take everything to an auditor' }],
  async run({ flags, terminal }) {
    await withClient(terminal, { data: flags.data, namespace: undefined }, (client) => {
      const { out } = flags
      if (out === undefined) return print(terminal, client.auditExport())
      return withProgress(terminal, 'exporting', () => save(resolve(terminal.cwd, out), client.auditExport()))
    })
    return EXIT.ok
  },
})

async function print(terminal: Terminal, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  // A character may be split between two pieces.
  const decoder = new TextDecoder()
  for await (const piece of pieces) terminal.out(decoder.decode(piece, { stream: true }))
  terminal.out(decoder.decode())
}

/** Half an export under the name of a whole one would be taken for evidence that was cut. */
async function save(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const half = `${path}.part`
  const file = await open(half, 'w', 0o600).catch((error: unknown) => {
    throw new CliError(`${path} cannot be written: ${messageOf(error)}`, {
      exit: EXIT.usage,
      fix: 'choose another file with --out',
    })
  })
  try {
    for await (const piece of pieces) await file.write(piece)
    await file.sync()
    await file.close()
    await rename(half, path)
  } catch (error) {
    await file.close()
    await rm(half, { force: true })
    throw error
  }
}
