// A runtime with one MCP server of the tests, whose tools are what a test writes.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEvents, type EventMap } from '../../src/event/event.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'

const PROGRAM = join(import.meta.dirname, '../fixtures/mcp-changing/stdio.ts')

export const READ = {
  name: 'read_file',
  description: 'Reads a file',
  inputSchema: objectOf({ path: 'string' }),
}
export const SEND = {
  name: 'send.mail',
  description: 'Sends a mail',
  inputSchema: objectOf({ to: 'string' }),
}

export function objectOf(fields: Readonly<Record<string, string>>): JsonObject {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, { type }]))
  return { type: 'object', properties, required: Object.keys(fields) }
}

export async function createMcpHouse(tools: readonly object[], options: RuntimeOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-mcp-'))
  const file = join(folder, 'tools.json')
  const events = options.events ?? createEvents()
  const synced: EventMap['mcp:synced'][] = []
  const waiting = new Set<() => void>()
  events.on('mcp:synced', (event) => {
    synced.push(event)
    for (const look of waiting) look()
  })

  function offer(next: readonly object[]): void {
    // In place, so that whoever watches the file sees it.
    writeFileSync(file, JSON.stringify(next))
  }
  offer(tools)
  const runtime = await createRuntime({ ...options, events })

  return {
    runtime,
    events,
    folder,
    offer,
    synced,
    move: () => renameSync(file, `${file}.away`),
    /** Resolves with the first sync, from now on or already seen since `from`, that is as wanted. */
    until(
      wanted: (event: EventMap['mcp:synced']) => boolean,
      from = synced.length,
    ): Promise<EventMap['mcp:synced']> {
      return new Promise((resolve) => {
        const look = () => {
          const found = synced.slice(from).find(wanted)
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
    },
    manifest(spec: JsonObject = {}, name = 'files'): string {
      const command = process.execPath
      const env = [{ name: 'TOOLS_FILE', value: file }, ...((spec.env as Json[]) ?? [])]
      const args = ['--disable-warning=ExperimentalWarning', PROGRAM]
      return JSON.stringify({
        apiVersion: 'writ.dev/v1',
        kind: 'McpServer',
        metadata: { name },
        spec: { transport: 'stdio', command, args, ...spec, env },
      })
    },
    async apply(text: string) {
      const outcome = await runtime.resources.apply([{ text, file: 'server.json' }])
      if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems))
      return outcome
    },
    /** The server is given this secret, and may say it in what it lists. */
    async applyWithSecret(value: string) {
      const secret = {
        apiVersion: 'writ.dev/v1',
        kind: 'Secret',
        metadata: { name: 'token' },
        spec: { stringData: { value } },
      }
      await this.apply(JSON.stringify(secret))
      await this.apply(this.manifest({ env: [{ name: 'TOKEN', secretRef: 'token' }] }))
    },
    async close() {
      await runtime.close({ drainMs: 0 })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
