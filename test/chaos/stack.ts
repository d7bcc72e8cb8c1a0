// Everything that runs in a chaos run: the tool, one server over SQLite or two over PostgreSQL, and the database.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { type Client, createClient } from '../../src/client/client.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import type { Servers } from './careful-client.ts'
import { LEASE_MS, type StoreKind } from './schedule.ts'
import { manifests, TOOL_KINDS } from './tool-kind.ts'
import { ProcessVictim, type Victim } from './victim.ts'

export const BIN = fileURLToPath(new URL('../../bin/writ', import.meta.url))
const TOOL = fileURLToPath(new URL('./tool-process.ts', import.meta.url))

const KNOWN_WITHIN_MS = 5_000

export interface Stack {
  readonly servers: Servers
  readonly victims: ReadonlyMap<string, Victim>
  /** The tool's own file. */
  readonly log: string
  /** Where each server keeps the heads of its evidence, outside the store. */
  readonly anchors: readonly string[]
  /** Servers that did not hear of the tools. */
  readonly deaf: readonly string[]
  /** The tool behaves from now on. */
  calm(): Promise<void>
  /** Ends the servers and the tool in order. */
  stopServers(): Promise<void>
  /** Ends everything, whatever state it is in. */
  close(): Promise<void>
}

export interface StackOptions {
  readonly store: StoreKind
  readonly folder: string
  readonly seed: string
  readonly onLost: (error: unknown) => void
}

export async function startStack({ store, folder, seed, onLost }: StackOptions): Promise<Stack> {
  const token = randomBytes(24).toString('base64url')
  const agent = new Agent({ connections: 128, connectTimeout: 2_000 })
  const victims = new Map<string, Victim>()
  const toolPort = await freePort()
  const origin = `http://127.0.0.1:${toolPort}`
  const log = join(folder, 'tool.log')
  const answers = async (url: string) => {
    try {
      const reply = await request(url, { dispatcher: agent, signal: AbortSignal.timeout(1_000) })
      await reply.body.dump()
      return reply.statusCode === 200
    } catch {
      return false
    }
  }
  victims.set(
    'tool',
    new ProcessVictim({
      name: 'tool',
      file: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', TOOL, log, String(toolPort), seed],
      ready: () => answers(`${origin}/hello`),
      onLost,
    }),
  )
  let database: PostgresServer | undefined
  let place: string | undefined
  if (store === 'postgres') {
    database = await startPostgres()
    victims.set('database', databaseVictim(database))
    place = await database.createDatabase()
  }
  // Whoever shares a store signs with one key.
  const key = join(folder, 'audit-key.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const anchors: string[] = []
  const deaf: string[] = []
  const urls: string[] = []
  for (let number = 1; number <= (store === 'postgres' ? 2 : 1); number++) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    urls.push(url)
    const name = `server-${number}`
    const anchor = join(folder, `${name}-heads.jsonl`)
    anchors.push(anchor)
    victims.set(
      name,
      new ProcessVictim({
        name,
        file: BIN,
        args: ['up', '--port', String(port), '--data', join(folder, name), '--log-level', 'error'],
        env: {
          WRIT_ADMIN_TOKEN: token,
          WRIT_AUDIT_KEY: key,
          WRIT_AUDIT_ANCHOR: anchor,
          ...(place === undefined ? {} : { WRIT_STORE: place, WRIT_STORE_LEASE_MS: String(LEASE_MS) }),
        },
        ready: () => answers(`${url}/readyz`),
        why: () => textAt(`${url}/readyz`),
        onLost,
      }),
    )
  }

  async function close(): Promise<void> {
    // The database goes last: whoever is about to end may still have to write.
    for (const victim of [...victims.values()].filter(({ name }) => name !== 'database')) {
      await victim.end('kill')
    }
    await database?.stop()
    await agent.destroy()
  }

  try {
    for (const victim of victims.values()) await victim.start()
    const clients = urls.map((url) => createClient({ url, token }))
    try {
      const applied = await clients[0]?.apply(manifests(origin))
      if (applied?.ok !== true) throw new Error(JSON.stringify(applied?.problems))
      for (const [index, client] of clients.entries()) {
        if (await isKnown(client)) continue
        const victim = victims.get(`server-${index + 1}`)
        deaf.push(`${victim?.name} knows what was applied through another only after a restart`)
        await victim?.end('stop')
        await victim?.start()
      }
    } finally {
      for (const client of clients) await client.close()
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    servers: { urls, token, agent },
    victims,
    log,
    anchors,
    deaf,
    async calm() {
      if (!(await answers(`${origin}/calm`))) throw new Error('the tool does not answer')
    },
    async stopServers() {
      for (const [name, victim] of victims) if (name.startsWith('server')) await victim.end('stop')
    },
    close,
  }
}

/** What is applied through one server is known to all of them a moment later. */
async function isKnown(client: Client): Promise<boolean> {
  const until = performance.now() + KNOWN_WITHIN_MS
  const knows = async (name: string) => {
    const { decision } = await client.explain({ request_id: 'known', tool: { name }, input: { intent: '' } })
    return decision === 'allow'
  }
  while (!(await Promise.all(TOOL_KINDS.map(knows))).every(Boolean)) {
    if (performance.now() > until) return false
    await sleep(50)
  }
  return true
}

function databaseVictim(database: PostgresServer): Victim {
  return {
    name: 'database',
    ownEnds: [],
    said: '',
    start: () => (database.pid === undefined ? database.start() : Promise.resolve()),
    freeze: database.freeze,
    thaw: database.thaw,
    end: database.kill,
    // It takes care of its own end with this process.
    killNow: () => {},
  }
}

/** A port that nobody listens on. It is the same after every restart, so that clients find the server again. */
function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

async function textAt(url: string): Promise<string> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(5_000) })).text()
  } catch (error) {
    return String(error)
  }
}
