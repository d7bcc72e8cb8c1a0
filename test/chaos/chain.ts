// The evidence that a chaos run leaves, verified as an auditor would: by the command, against heads that were kept outside.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createClient } from '../../src/client/client.ts'
import { linesOf } from '../../src/ledger/audit-line.ts'
import type { Intent } from './careful-client.ts'
import { BIN, type Stack } from './stack.ts'

/**
 * What `writ audit verify` finds wrong, for each server's own anchor. Servers that share a store share one row of
 * checkpoints: one that was always second has kept none, but somebody has.
 */
export async function brokenChain({ servers, anchors }: Stack): Promise<readonly string[]> {
  const kept = anchors.filter((anchor) => existsSync(anchor))
  if (kept.length === 0) return ['no server has kept a head']
  const env = {
    PATH: process.env.PATH ?? '',
    WRIT_URL: servers.urls[0] ?? '',
    WRIT_TOKEN: servers.token,
  }
  const wrong = await Promise.all(
    kept.map(
      (anchor) =>
        new Promise<string[]>((resolve) => {
          execFile(BIN, ['audit', 'verify', '--head', anchor], { env }, (error, out, err) =>
            resolve(error === null ? [] : `${out}${err}`.trim().split('\n')),
          )
        }),
    ),
  )
  return wrong.flat()
}

/** What evidence says about the calls of some intents, for whoever has to find out what went wrong. */
export async function evidenceOf({ servers }: Stack, intents: readonly Intent[]): Promise<readonly string[]> {
  const calls = new Map(
    intents.flatMap(({ id, told }) => told.map(({ callId }): [string, string] => [callId, id])),
  )
  if (calls.size === 0) return []
  const client = createClient({ url: servers.urls[0] ?? '', token: servers.token })
  const found: string[] = []
  try {
    for await (const text of linesOf(client.auditExport())) {
      const line = JSON.parse(Buffer.from(text).toString()) as Readonly<Record<string, unknown>>
      const intent = line.kind === 'record' ? calls.get(String(line.call_id)) : undefined
      if (intent === undefined) continue
      const at = new Date(Number(line.at)).toISOString().slice(11, 23)
      found.push(`${intent} ${at} ${line.call_id} ${line.type} ${line.body}`)
    }
  } finally {
    await client.close()
  }
  return found.sort()
}
