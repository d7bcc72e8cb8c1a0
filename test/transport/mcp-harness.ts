// MCP servers of the tests: how they are declared, and what reached them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createNetwork } from '../../src/egress/network.ts'
import type { ResolvedMcpServer } from '../../src/resource/resolved-mcp-server.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { World } from '../../src/util/world.ts'
import type { SeenCall } from '../fixtures/mcp-peer/answer.ts'
import { makeTool } from './send-fixture.ts'
import { pause } from './transport-contract.ts'

const PEER = fileURLToPath(new URL('../fixtures/mcp-peer/stdio.ts', import.meta.url))

export function makeWorld(): World {
  return createSystemWorld({ network: createNetwork() })
}

export function makeServer(
  connection: ResolvedMcpServer['connection'],
  overrides: Partial<ResolvedMcpServer> = {},
): ResolvedMcpServer {
  const name = overrides.name ?? 'peer'
  return {
    namespace: 'default',
    name,
    digest: `sha256:${name}`,
    connection,
    reconnect: { maxAttempts: 1, backoffMs: 1 },
    concurrency: 64,
    resyncMs: 300_000,
    labels: {},
    ...overrides,
  }
}

export function programOf(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Extract<ResolvedMcpServer['connection'], { kind: 'stdio' }> {
  return { kind: 'stdio', command: process.execPath, args, env, envFrom: [] }
}

export function mcpTool(tool: string, overrides: Partial<ResolvedTool> = {}): ResolvedTool {
  return makeTool({ type: 'mcp', mcp: { server: 'peer', tool }, ...overrides })
}

export interface PeerNotes {
  readonly file: string
  readonly calls: readonly SeenCall[]
  /** Process ids, one for each start. */
  readonly starts: readonly number[]
  readonly environments: readonly (readonly string[])[]
  readonly cancelled: readonly unknown[]
  /** Resolves once this holds of what the peer has written down. */
  until(holds: () => boolean): Promise<void>
  close(): void
}

/** What a peer wrote to a file: written before it answers, so it is there when the answer is. */
export function createNotes(): PeerNotes {
  const folder = mkdtempSync(join(tmpdir(), 'writ-mcp-'))
  const file = join(folder, 'seen')
  const facts = () =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  return {
    file,
    get calls() {
      return facts().flatMap(({ call }) => (call === undefined ? [] : [call]))
    },
    get starts() {
      return facts().flatMap(({ started }) => (started === undefined ? [] : [started]))
    },
    get environments() {
      return facts().flatMap(({ env }) => (env === undefined ? [] : [env]))
    },
    get cancelled() {
      return facts().flatMap(({ cancelled }) => (cancelled === undefined ? [] : [cancelled]))
    },
    async until(holds) {
      while (!holds()) await pause(5)
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The peer of the tests as a program. */
export function peerProgram(
  notes: PeerNotes,
  env: Readonly<Record<string, string>> = {},
): ReturnType<typeof programOf> {
  return programOf(['--disable-warning=ExperimentalWarning', PEER], { PEER_SEEN: notes.file, ...env })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
